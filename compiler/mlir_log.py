"""Reads what Triton's C++ side wrote to stderr: MLIR errors, LLVM aborts, failed assertions.

Pure text, no Triton.

What a dying compiler says is not trusted: it only becomes messages, bounded in number and length.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from compiler.excerpt import Diagnostic, Span, diagnostic, excerpt, file_in_kernel
from compiler.mlir_words import told

STAGES = frozenset(
    {"request", "frontend", "ttir", "ttgir", "llir", "ptx", "cubin", "amdgcn", "hsaco"}
)
MOST_DIAGNOSTICS = 20
MOST_READ = 200
"""Different complaints: a log that has more is not read to its end."""
LONGEST_MESSAGE = 1000
LONGEST_LINE = 4000
LONGEST_LOG = 1 << 20
LONGEST_NUMBER = 9
"""Digits of a line or a column."""

_KINDS = ("error", "warning", "remark", "note")
_NOWHERE = frozenset({"<unknown>:0", "loc(unknown)"})
_LLVM = ("LLVM ERROR: ", "fatal error: ", "error: ")
_ASSEMBLY = "<inline asm>"
_UNREACHABLE = "UNREACHABLE executed at "
_PIPELINE = "Pipeline failed while executing "
_EMPTY = ("Failures have been detected while processing an MLIR pass pipeline",)
_IR_DUMP = re.compile(r"see current operation: |\s*\"?[\w.]+\"?\(|module|#|//")


class _Said(NamedTuple):
    """A line that complains: where, as written, and of what."""

    place: str
    kind: str
    message: str


class _Place(NamedTuple):
    file: str
    line: int
    column: int


def diagnostics(log: str, sources: Mapping[str, str], stage: str) -> list[Diagnostic]:
    """Return what `log` complains of, errors at the user's lines where it tells them.

    `sources` holds the user's texts by virtual path ("/kernel/user.py"); `stage` is the one under
    way.
    """
    stage = stage if stage in STAGES else "frontend" if stage == "source" else "ttgir"
    lines = {path: text.split("\n") for path, text in sources.items()}
    found: dict[tuple[object, ...], Diagnostic] = {}
    before = ""
    for line in log[:LONGEST_LOG].splitlines():
        said = _read(line[:LONGEST_LINE], lines, stage)
        if line.startswith(_UNREACHABLE):  # what it was about is on the line before
            said = _plain("error", stage, f"LLVM: {before}")
        before = line[:LONGEST_LINE]
        if said is not None:
            found.setdefault(tuple(said.values()), said)
        if len(found) >= MOST_READ:
            break
    return _worth_telling(list(found.values()))[:MOST_DIAGNOSTICS]


def failing_pass(log: str) -> str | None:
    """Return the name of the pass that MLIR says it was executing, the innermost of nested ones."""
    said = log.partition(_PIPELINE)[2].partition("\n")[0]
    said = said.partition("]")[0] if said.startswith("[") else "`".join(said.split("`")[:3])
    names = [name for name in said.split("`")[1::2] if _is_word(name)]
    return names[-1] if names else None


def _worth_telling(found: list[Diagnostic]) -> list[Diagnostic]:
    """Return `found`, errors first; without what says nothing, if anything says something."""
    if any(said["severity"] == "error" and _tells_something(said) for said in found):
        found = [said for said in found if _tells_something(said)]
    return sorted(found, key=lambda said: said["severity"] != "error")


def _read(line: str, sources: Mapping[str, list[str]], stage: str) -> Diagnostic | None:
    said = _said(line)
    if said is not None:
        if said.place in _NOWHERE:
            return _plain(_severity(said.kind), stage, said.message)
        place = _place(said.place)
        if place is not None:
            return _located(place, said, sources, stage)
    if (failed := _assertion(line)) is not None:
        return _plain("error", stage, f"Triton's own check failed: {failed}")
    for start in _LLVM:
        if line.startswith(start):
            return _plain("error", stage, f"LLVM: {line.removeprefix(start)}")
    return None


def _said(line: str) -> _Said | None:
    """Read "<place>: <kind>: <message>", at the first kind that the line names."""
    marks = [(at, kind) for kind in _KINDS if (at := line.find(f": {kind}: ")) >= 0]
    if not marks:
        return None
    at, kind = min(marks)
    return _Said(line[:at], kind, line[at + len(f": {kind}: ") :])


def _place(text: str) -> _Place | None:
    """Read `file:line:column`, in quotes or in `loc(...)` or both."""
    if text.startswith("loc("):
        text = text.removeprefix("loc(").removesuffix(")")
    file, _, numbers = text.partition(":")
    if file.startswith('"'):
        file = file.removeprefix('"').removesuffix('"')
    line, _, column = numbers.partition(":")
    if (
        not file
        or file[0].isspace()
        or '"' in file
        or not (_is_number(line) and _is_number(column))
    ):
        return None
    return _Place(file, int(line), int(column))


def _assertion(line: str) -> str | None:
    """Read "<program>: <file>:<line>: <function>: Assertion `<words>' failed."."""
    end = line.rfind("' failed")
    start = max(line.rfind("Assertion `", 0, end), line.rfind("Assertion '", 0, end))
    if end < 0 or start < 0:
        return None
    for part in line[:start].split(": "):
        file, _, number = part.rpartition(":")
        if file and _is_number(number) and not (":" in file or " " in file):
            # the folders are of whoever built Triton
            return f"{line[start + 11 : end]} ({file.rpartition('/')[2]}:{number})"
    return None


def _is_number(text: str) -> bool:
    return text.isdecimal() and text.isascii() and len(text) <= LONGEST_NUMBER


def _is_word(text: str) -> bool:
    return bool(text) and text.replace("_", "a").isalnum()


def _located(
    place: _Place, said: _Said, sources: Mapping[str, list[str]], stage: str
) -> Diagnostic | None:
    if said.message.startswith(_PIPELINE):
        name = failing_pass(said.message)
        return _plain("note", stage, f"while running the pass {name}") if name else None
    file = file_in_kernel(place.file)
    if place.file == _ASSEMBLY:
        return _plain(_severity(said.kind), stage, f"in inline asm: {said.message}")
    if file is None:
        return _plain(_severity(said.kind), stage, said.message)
    text = sources.get(place.file)
    span = Span(file, place.line, max(place.column, 1))
    shown = excerpt(text, span) if text is not None else None
    message, hint = told(said.message[:LONGEST_MESSAGE])
    return diagnostic(_severity(said.kind), stage, message, hint=hint, span=span, excerpt=shown)


def _plain(severity: str, stage: str, message: str) -> Diagnostic:
    message, hint = told(message[:LONGEST_MESSAGE])
    return diagnostic(severity, stage, message, hint=hint)


def _severity(kind: str) -> str:
    return "note" if kind == "remark" else kind


def _tells_something(said: Diagnostic) -> bool:
    message = str(said["message"])
    if said["severity"] == "note":
        return _IR_DUMP.match(message) is None
    return bool(message) and message not in _EMPTY
