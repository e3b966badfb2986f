"""The task for posted IR: it is parsed, repaired if necessary, and lowered.

Runs no user Python; the text is data for MLIR's parser alone.
"""

import re
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from compiler.back import (
    contexts,
    ir_module,
    ir_repairs,
    locations,
    mlir_log,
    tool_process,
    triton_api,
)
from compiler.back.back import lowered, spent_ms
from compiler.back.ir_entry import entry_of
from compiler.diagnostic import KERNEL_FOLDER, Diagnostic, Failure, diagnostic
from compiler.messages.orders import PostedOrder
from compiler.messages.reports import PostedReport
from compiler.messages.wire import Send

_ALIAS_MISSING = "location alias was never defined"
_VERIFIER = re.compile(r"'[\w.]+' op |\w+ has an invalid layout")


@dataclass(frozen=True)
class _Module:
    """A parsed module, its text, and the necessary repairs."""

    module: Any
    text: str
    notes: list[Diagnostic]


def lower_posted_ir(order: PostedOrder, body: bytes, send: Send) -> PostedReport:
    """Lower the posted IR `body`; its own text comes as the first stage. Raises `Failure`."""
    language, text = order.language, body.decode()
    ir_module.check_size(text, language, order.ir_bounds)
    backend = triton_api.make_backend(triton_api.target_of(order.target))
    started = perf_counter()
    parsed = _parsed(text, backend, language)
    entry = entry_of(parsed.module, language, parsed.text)
    ir_module.check_lowerable(parsed.module, backend.target, language)
    parse_ms = spent_ms(started)
    send({"kind": "stage", "stage": order.stage, "ms": parse_ms}, parsed.text.encode())
    # before the lowering, which changes the module's attributes
    notes = [*parsed.notes, *ir_module.contradictions(parsed.module, order)]
    report = lowered(parsed.module, parsed.text, backend, order, send, parse_ms)
    return PostedReport(
        facts=report.facts,
        timings_ms=report.timings_ms,
        kernel=entry.name,
        parameters=entry.parameters,
        notes=notes,
    )


def _parsed(text: str, backend: Any, language: str) -> _Module:
    refused = None
    for attempt in ir_repairs.attempts(text):
        try:
            module = _parse(attempt.text, backend, language)
        except Failure as failure:
            if refused is None or _ALIAS_MISSING in refused.message:
                refused = failure
        else:
            notes = [diagnostic("note", language, note) for note in attempt.notes]
            return _Module(module, attempt.text, notes)
    assert refused is not None
    raise _at_own_lines(refused, text, backend, language)


def _parse(text: str, backend: Any, language: str) -> Any:
    """Parse into a context of its own, locations in the text's own lines under its virtual path."""
    path = f"{KERNEL_FOLDER}user.{language}"
    context = contexts.new_context(backend)
    # an attempt that fails is not the user's business
    with tool_process.stderr_in_memory() as written:
        try:
            return locations.under_path(locations.parse(text, context), path)
        except RuntimeError as error:
            words = tool_process.content_of(written, mlir_log.LONGEST_LOG)
            log = locations.with_path(words.decode(errors="replace"), path)
            raise _refusal(log, text, path, language) from error


def _refusal(log: str, text: str, path: str, language: str) -> Failure:
    found = mlir_log.diagnostics(log, {path: text}, language)
    if not found:
        message = "MLIR cannot parse the text"
        return Failure("syntax_error", language, message, [diagnostic("error", language, message)])
    complaint = found[0].message
    slug = "compile_error" if _VERIFIER.match(complaint) else "syntax_error"
    place = f"line {found[0].line}: " if found[0].line else ""
    return Failure(slug, language, place + complaint, found)


def _at_own_lines(refused: Failure, text: str, backend: Any, language: str) -> Failure:
    """Return `refused` with lines of `text`, not of the source that the IR was once made from."""
    if refused.diagnostics[0].file == f"user.{language}":
        return refused
    try:
        _parse(ir_repairs.without_locations(text), backend, language)
    except Failure as failure:
        return failure
    return refused
