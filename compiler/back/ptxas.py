"""Assembles PTX by running ptxas without a file, and reads what it reports: resources and errors.

All that ptxas reads and writes is memory. Standard library only.
"""

import itertools
import re
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from compiler.back import tool_process, triton_api
from compiler.diagnostic import (
    Diagnostic,
    Failure,
    Severity,
    Span,
    diagnostic,
    excerpt,
    file_in_kernel,
)
from compiler.lines.assembly import misleading_locations

MAX_COMPLAINTS = 20
MAX_LOG = 1 << 18
_REGISTERS = re.compile(r"Used (\d{1,9}) registers")
_FRAME = re.compile(
    r"(?<!\d)(\d{1,12}) bytes stack frame, (\d{1,12}) bytes spill stores, "
    r"(\d{1,12}) bytes spill loads"
)
_SHARED = re.compile(r"(?<!\d)(\d{1,12}) bytes smem")
_ERROR = re.compile(
    r"^ptxas\S* (?P<file>\S+), line (?P<line>\d{1,9}); "
    r"(?P<severity>error|fatal|warning)\s*: (?P<message>.*)$",
    re.MULTILINE,
)
_FATAL = re.compile(r"^ptxas\S* (?P<severity>error|fatal)\s*: (?P<message>.*)$", re.MULTILINE)
_NUMBERS = r"\s+(\d{1,9})\s+(\d{1,9})\s+(\d{1,9})"
_LOC = re.compile(rf"\s*\.loc{_NUMBERS}")
_INLINED_AT = re.compile(rf"inlined_at{_NUMBERS}")
_FILE = re.compile(r'\s*\.file\s+(\d{1,9})\s+"([^"]*)"(?:\s+"([^"]*)")?')
_TOO_MUCH = re.compile(r"uses too (?:much|many) |too much shared data")
_NO_MEMORY = re.compile(r"Memory allocation failure|bad_alloc|[Oo]ut of memory")
_AT_LINE = re.compile(r"at line (\d{1,9}) in function")
_ENOUGH_REGISTERS = re.compile(r"register target of (\d{1,4}) or higher")
_ABORTED = "Ptx assembly aborted due to errors"


def resources(log: str) -> dict[str, int]:
    """Return registers per thread, and bytes of spills, stack and static shared memory."""
    registers, frame, shared = (pattern.search(log) for pattern in (_REGISTERS, _FRAME, _SHARED))
    stack, stores, loads = (int(group) for group in frame.groups()) if frame else (0, 0, 0)
    return {
        "registers": int(registers[1]) if registers else 0,
        "spill_store_bytes": stores,
        "spill_load_bytes": loads,
        "stack_bytes": stack,
        "static_shared_bytes": int(shared[1]) if shared else 0,
    }


def slug_of(status: int, log: str) -> str:
    """Return what an unsuccessful end of ptxas is called; `status` is minus the signal it died of.

    Only failures that the PTX itself causes may be shared with others.
    """
    if _NO_MEMORY.search(log):
        return "memory_exceeded"
    if status < 0:
        return "compiler_crashed"
    return "out_of_resources" if _TOO_MUCH.search(log) else "assembler_failed"


def diagnostics(log: str, ptx: str, sources: dict[str, str]) -> list[Diagnostic]:
    """Return an error per complaint of ptxas, at the user's line where `.loc` contains it.

    `sources` holds texts by the path that `.file` names ("/kernel/user.py").
    """
    lines = ptx.split("\n")
    messages: list[Diagnostic] = []
    log = log[:MAX_LOG]
    for match in itertools.islice(_ERROR.finditer(log), MAX_COMPLAINTS):
        number = int(match["line"])
        messages += _complaint(match["message"], number, match["severity"], lines, sources)
    for match in itertools.islice(_FATAL.finditer(log), MAX_COMPLAINTS):
        if _ABORTED not in match["message"]:
            messages.append(_fatal(match["message"].strip(), log, lines, sources))
    return messages


def _fatal(message: str, log: str, lines: list[str], sources: dict[str, str]) -> Diagnostic:
    at = _AT_LINE.search(message)
    span = user_place(lines, int(at[1])) if at else None
    shown = excerpt(sources.get(f"/kernel/{span.file}", "").split("\n"), span) if span else None
    enough = _ENOUGH_REGISTERS.search(message)
    hint = _hint(log)
    if enough is not None:
        hint = (
            f"The option maxnreg is too small for this: give {enough[1]} or more, use smaller "
            "blocks, or leave it out."
        )
    return diagnostic("error", "cubin", message, hint=hint, span=span, excerpt=shown)


def _complaint(
    message: str, number: int, severity: str, lines: list[str], sources: dict[str, str]
) -> list[Diagnostic]:
    ptx_line = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    span = user_place(lines, number)
    shown = excerpt(sources.get(f"/kernel/{span.file}", "").split("\n"), span) if span else None
    kind: Severity = "warning" if severity == "warning" else "error"
    message = f"{message.strip()} (line {number} of the PTX: {ptx_line})"
    return [
        diagnostic(
            kind, "cubin", message, hint=_hint(message), span=span, excerpt=shown or ptx_line
        )
    ]


def user_place(lines: list[str], number: int) -> Span | None:
    """Return the user's line that PTX line `number` was made from: the nearest `.loc` above it.

    A `.loc` in the library is followed to the call that it was inlined at.
    """
    files = {
        int(index): f"{folder}/{name}" if name else folder
        for index, folder, name in (match.groups() for match in map(_FILE.match, lines) if match)
    }
    caller: list[int] = []
    for position, called in _locations_above(lines, number):
        if caller and position != caller:
            continue
        for file, line, column in filter(None, (position, called)):
            name = file_in_kernel(files.get(file, ""))
            if name is not None and line > 0:
                return Span(name, line, max(column, 1))
        if not called:
            return None
        caller = called
    return None


def _locations_above(lines: list[str], number: int) -> Iterator[tuple[list[int], list[int]]]:
    """Yield every `.loc` above line `number`, nearest first, and where it was inlined, if at all.

    Each is file, line and column.
    """
    above = lines[: max(number - 1, 0)]
    misleading = set(misleading_locations(above))
    for at in range(len(above), 0, -1):
        match = None if at in misleading else _LOC.match(above[at - 1])
        if match is not None:
            inlined = _INLINED_AT.search(match.string, match.end())
            yield (
                list(map(int, match.groups())),
                list(map(int, inlined.groups())) if inlined else [],
            )


def _hint(message: str) -> str | None:
    for pattern, hint in _HINTS:
        if re.search(pattern, message):
            return hint
    return None


_HINTS = (
    (
        r"Unknown symbol '%\d+'",
        "Operands of tl.inline_asm_elementwise are written $0, $1, ..., not %0.",
    ),
    (
        r"Unknown symbol|Not a name of any known instruction|Parsing error|syntax error",
        "If this comes from tl.inline_asm_elementwise, check the spelling of its instructions: "
        "Triton hands that text to ptxas unread.",
    ),
    (
        r"requires \.target|not supported on \.target|requires PTX ISA",
        "This instruction does not exist on the target: choose a newer one or another instruction.",
    ),
    (
        r"Arguments mismatch|Unexpected instruction types|Illegal operand type",
        "The operand types do not fit the instruction: check the `constraints` and `dtype` of "
        'tl.inline_asm_elementwise ("r" is 32 bits, "l" 64, "h" 16, "f" fp32).',
    ),
    (
        _TOO_MUCH.pattern,
        "The kernel needs more shared memory than there is: use smaller blocks or num_stages.",
    ),
)


@dataclass(frozen=True)
class Assembled:
    """A cubin and the registers and memory that `ptxas -v` reported."""

    cubin: bytes
    resources: dict[str, int]


def assemble(ptx: str, make_cubin: Callable[..., Any], sources: dict[str, str]) -> Assembled:
    """Assemble `ptx` with the arguments of Triton's own `make_cubin`.

    Raises `Failure` with the slug of `ptxas_log.slug_of`, pointing at the line of PTX and at the
    user's line of `sources` (texts by the path that `.file` names).
    """
    with (
        tool_process.memory("ptx", ptx.encode()) as text,
        tool_process.memory("cubin") as cubin,
        tool_process.memory("log") as log,
    ):
        command = triton_api.ptxas_command(
            make_cubin, tool_process.path_of(text), tool_process.path_of(cubin)
        )
        status = tool_process.run(command, {1: log, 2: log})
        words = tool_process.content_of(log).decode(errors="replace")
        if status != 0:
            raise _failure(status, words, ptx, sources)
        return Assembled(tool_process.content_of(cubin), resources(words))


def _failure(status: int, words: str, ptx: str, sources: dict[str, str]) -> Failure:
    complaints = diagnostics(words, ptx, sources)
    if status < 0:
        message = f"ptxas died of {signal.Signals(-status).name}"
    elif complaints:
        message = f"ptxas: {complaints[0].message}"
    else:
        message = f"ptxas ended with status {status}: {words.strip()[:500]}"
    messages = complaints or [diagnostic("error", "cubin", message)]
    return Failure(slug_of(status, words), "cubin", message, messages)
