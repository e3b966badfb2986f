"""The task for posted IR: it is parsed, repaired if necessary, and lowered.

Runs no user Python; the text is data for MLIR's parser alone.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from compiler.back import contexts, ir_module, locations, mlir_log, tool_process, triton_api
from compiler.back.back import lowered, spent_ms
from compiler.back.ir_entry import check_symbol, entry_of
from compiler.diagnostic import KERNEL_FOLDER, Diagnostic, Failure, diagnostic
from compiler.messages.orders import PostedOrder
from compiler.messages.reports import PostedReport
from compiler.messages.wire import Send
from compiler.stages import BY_NAME

_ALIAS_MISSING = "location alias was never defined"
_VERIFIER = re.compile(r"'[\w.]+' op |\w+ has an invalid layout")
_MAX_NAMED = 3

_ALIAS = re.compile(r"#loc\d*\b")
_DEFINITION = re.compile(r"^(#loc\d*) = loc\(", re.MULTILINE)
_REFERENCE = re.compile(r"(?:(?<!\s)\s+)?\bloc\((#loc\d*)\)")

_PLAIN = r'(?:[^()"]|"[^"]*")*'
_NESTED = rf"{_PLAIN}(?:\({_PLAIN}(?:\({_PLAIN}(?:\({_PLAIN}\){_PLAIN})*\){_PLAIN})*\){_PLAIN})*"
_LOCATION = re.compile(rf"(?:(?<!\s)\s+)?\bloc\({_NESTED}\)")

_CONSTANT = re.compile(r'(!tt\.ptr<[^<>"]*), "constant">')
_OLD_TYPE = re.compile(r"(?<=tensordesc)<tensor<([^<>]*)>>|(?<!\w)<tensor<([^<>]*)>>")
_NEW_TYPE = re.compile(r"tensordesc<([\dx]+x[^<>]*)>")
_NEW_RESULT = re.compile(r"(?<=, )<((?:\d+x)+\w+)>")
_BUFFER = re.compile(r"\bamdg\.buffer_(?:load|store) ")
_BARRIER = re.compile(r"(\brocdl\.sched\.barrier )(\w+)")
_MASKS = {"0": "none", "1": "non_mem_non_sideeffect"}  # those that Triton makes
_TENSOR = re.compile(r"tensor<(?:\d+x)+(\w+)[,>]")
_NEW_OPERAND = re.compile(r"(?<=[:,] )<((?:\d+x)+\w+)>(?= ?(?:->|,| loc|$))")


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
    last = BY_NAME[order.stop_after or order.target.stages[-1]]
    if last.syntax not in {"mlir", "llvm"}:
        check_symbol(entry.name, order.target.backend, language)
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
    for attempt in attempts(text):
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
    """Parse into a separate context, locations in the text's own lines under its virtual path."""
    path = f"{KERNEL_FOLDER}user.{language}"
    context = contexts.new_context(backend)
    # an attempt that fails is not the user's business
    with tool_process.stderr_in_memory() as written:
        try:
            return locations.under_path(locations.parse(text, context), path)
        except RuntimeError as error:
            words = tool_process.content_of(written, mlir_log.MAX_LOG)
            log = locations.with_path(words.decode(errors="replace"), path)
            raise _refusal(log, text, path, language) from error


def _refusal(log: str, text: str, path: str, language: str) -> Failure:
    messages = mlir_log.diagnostics(log, {path: text}, language)
    if not messages:
        message = "MLIR cannot parse the text"
        return Failure("syntax_error", language, message, [diagnostic("error", language, message)])
    complaint = messages[0].message
    slug = "compile_error" if _VERIFIER.match(complaint) else "syntax_error"
    place = f"line {messages[0].line}: " if messages[0].line else ""
    return Failure(slug, language, place + complaint, messages)


def _at_own_lines(refused: Failure, text: str, backend: Any, language: str) -> Failure:
    """Return `refused` with lines of `text`, not of the source that the IR was once made from."""
    if refused.diagnostics[0].file == f"user.{language}":
        return refused
    try:
        _parse(without_locations(text), backend, language)
    except Failure as failure:
        return failure
    return refused


# Repairs of text that stops just short of parsing: dropped location tables, old types.
#
# Line numbers never change, so what a diagnostic points at stays where the user wrote it.


_MASKS |= {name: number for number, name in _MASKS.items()}


@dataclass(frozen=True)
class _Repair:
    """A repaired text, and its repairs in words."""

    text: str
    notes: tuple[str, ...]


def attempts(text: str) -> Iterator[_Repair]:
    """Return the texts to try, one after the other: as it is, then each repair that changes it."""
    tried = _Repair(text, ())
    yield tried
    steps: tuple[Callable[[str], _Repair], ...] = (
        _locations,
        _constants,
        _descriptors,
        _buffers,
        _barriers,
    )
    for step in steps:
        repaired = step(tried.text)
        if repaired.text != tried.text:
            tried = _Repair(repaired.text, tried.notes + repaired.notes)
            yield tried


def without_locations(text: str) -> str:
    """Return the text with every operation left to be located at its own line."""
    return "\n".join(
        line if line.startswith("#loc") else _LOCATION.sub("", line) for line in text.split("\n")
    )


def _locations(text: str) -> _Repair:
    """Drop references to location aliases that the text does not define.

    The operations then get their own lines as locations.
    """
    defined = set(_DEFINITION.findall(text))
    missing = sorted(set(_ALIAS.findall(text)) - defined)

    def reference(match: re.Match[str]) -> str:
        return match[0] if match[1] in defined else ""

    def alias(match: re.Match[str]) -> str:
        return match[0] if match[0] in defined else "unknown"

    lines = [
        _ALIAS.sub(alias, line if line.startswith("#loc") else _REFERENCE.sub(reference, line))
        for line in text.split("\n")
    ]
    note = (
        f"location aliases are used that the text does not define ({_some(missing)}): they were "
        "dropped, and those operations are located at their own lines of this text"
    )
    return _Repair("\n".join(lines), (note,))


def _some(names: list[str]) -> str:
    return ", ".join(names if len(names) <= _MAX_NAMED else [*names[:_MAX_NAMED], "..."])


def _constants(text: str) -> _Repair:
    """Drop the mark of pointers to constant memory, which Triton knows since 3.9."""
    note = '!tt.ptr<T, "constant"> is what Triton 3.9 and later write: rewritten to !tt.ptr<T>'
    return _Repair(_CONSTANT.sub(r"\1>", text), (note,))


def _descriptors(text: str) -> _Repair:
    """Write tensor descriptor types as the other versions of Triton do (3.8 changed them)."""
    if "tensordesc" not in text:
        return _Repair(text, ())
    if "<tensor<" in text:
        note = "tensordesc<tensor<...>> is how Triton 3.7 and earlier wrote tensordesc<...>"
        return _Repair(_OLD_TYPE.sub(lambda m: f"<{m[1] or m[2]}>", text), (f"{note}: rewritten",))
    repaired = "\n".join(map(_old_line, _NEW_TYPE.sub(r"tensordesc<tensor<\1>>", text).split("\n")))
    note = "tensordesc<...> is how Triton 3.8 and later write tensordesc<tensor<...>>: rewritten"
    return _Repair(repaired, (note,))


def _buffers(text: str) -> _Repair:
    """Write AMD's buffer accesses as the other versions of Triton do (3.9 added the pointer)."""
    lines = [_buffer_line(line) if _BUFFER.search(line) else line for line in text.split("\n")]
    note = (
        "amdg.buffer_load and amdg.buffer_store are written differently since Triton 3.9: rewritten"
    )
    return _Repair("\n".join(lines), (note,))


def _barriers(text: str) -> _Repair:
    """Write the masks of AMD's scheduling barriers as the other versions do (3.9 named them)."""
    note = "the masks of rocdl.sched.barrier are names since Triton 3.9, numbers before: rewritten"
    return _Repair(_BARRIER.sub(lambda m: f"{m[1]}{_MASKS.get(m[2], m[2])}", text), (note,))


def _buffer_line(line: str) -> str:
    access, _, kind = line.rpartition(" : ")
    if kind.startswith("!tt.ptr<"):
        return f"{access} : {kind.partition(' -> ')[2]}"
    tensor = _TENSOR.match(kind)
    return f"{access} : !tt.ptr<{tensor[1]}> -> {kind}" if tensor else line


def _old_line(line: str) -> str:
    if "make_tensor_descriptor" in line:
        return _NEW_RESULT.sub(r"<tensor<\1>>", line)
    return _NEW_OPERAND.sub(r"<tensor<\1>>", line) if "descriptor" in line else line
