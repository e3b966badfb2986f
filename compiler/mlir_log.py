"""Reads what Triton's C++ side wrote to stderr: MLIR errors, LLVM aborts, failed assertions.

Pure text, no Triton.

What a dying compiler says is not trusted: it only becomes messages, bounded in number and length.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from compiler.excerpt import Diagnostic, Span, diagnostic, excerpt, file_in_kernel

STAGES = frozenset(
    {"request", "frontend", "ttir", "ttgir", "llir", "ptx", "cubin", "amdgcn", "hsaco"}
)
MOST_DIAGNOSTICS = 20
LONGEST_MESSAGE = 1000
LONGEST_LOG = 1 << 20

_AT = re.compile(
    r'^(?:loc\()?"?(?P<file>[^\s":][^":\n]*)"?:(?P<line>\d+):(?P<column>\d+)\)?: '
    r"(?P<kind>error|warning|remark|note): (?P<message>.*)$"
)
_NOWHERE = re.compile(
    r"^(?:<unknown>:0|loc\(unknown\)): (?P<kind>error|warning|remark|note): (?P<message>.*)$"
)
_LLVM = re.compile(r"^(?:LLVM ERROR|fatal error|error): (?P<message>.+)$")
_ASSERTION = re.compile(
    r"^(?:.*?: )?(?P<where>[^\s:]+:\d+): .*Assertion [`'](?P<message>.*)' failed"
)
_PIPELINE = re.compile(r"Pipeline failed while executing (?P<passes>\[[^\]]*\]|`\w+`)")
_PASS = re.compile(r"`(\w+)`")
_EMPTY = ("Failures have been detected while processing an MLIR pass pipeline",)
_IR_DUMP = re.compile(r"^(?:see current operation: |\s*\"?[\w.]+\"?\(|module|#|//)")

_HINTS = (
    (
        r"couldn't allocate (input|output) reg|invalid operand for inline asm|unknown constraint|"
        r"Copying to an illegal type|constraint",
        "A constraint of tl.inline_asm_elementwise does not fit its operand: "
        '"=r,r" is 32-bit integer or fp32 bits, "l" 64 bits, "h" 16 bits, "f" fp32, "d" fp64.',
    ),
    (
        r"Cannot select",
        "LLVM has no instruction for this on the target: try another target, another dtype, "
        "or another Triton version.",
    ),
    (
        r"out of resource|shared memory|exceeds",
        "Use smaller blocks, fewer num_stages or fewer warps.",
    ),
)


def diagnostics(log: str, sources: Mapping[str, str], stage: str) -> list[Diagnostic]:
    """Return what `log` complains of, errors at the user's lines where it tells them.

    `sources` holds the user's texts by virtual path ("/kernel/user.py"); `stage` is the one under
    way.
    """
    stage = stage if stage in STAGES else "frontend" if stage == "source" else "ttgir"
    found: list[Diagnostic] = []
    for line in log[:LONGEST_LOG].splitlines():
        said = _read(line, sources, stage)
        if said is not None and said not in found:
            found.append(said)
    if any(said["severity"] == "error" and _tells_something(said) for said in found):
        found = [said for said in found if _tells_something(said)]
    errors_first = sorted(found, key=lambda said: said["severity"] != "error")
    return errors_first[:MOST_DIAGNOSTICS]


def failing_pass(log: str) -> str | None:
    """Return the name of the pass that MLIR says it was executing, the innermost of nested ones."""
    match = _PIPELINE.search(log)
    names = _PASS.findall(match["passes"]) if match else []
    return names[-1] if names else None


def _read(line: str, sources: Mapping[str, str], stage: str) -> Diagnostic | None:
    if match := _AT.match(line):
        return _located(match, sources, stage)
    if match := _NOWHERE.match(line):
        return _plain(_severity(match["kind"]), stage, match["message"])
    if match := _ASSERTION.match(line):
        where = match["where"].rpartition("/")[2]  # the folders are of whoever built Triton
        return _plain("error", stage, f"Triton's own check failed: {match['message']} ({where})")
    if match := _LLVM.match(line):
        return _plain("error", stage, f"LLVM: {match['message']}")
    return None


def _located(match: re.Match[str], sources: Mapping[str, str], stage: str) -> Diagnostic | None:
    if match["message"].startswith("Pipeline failed while executing"):
        name = failing_pass(match["message"])
        return _plain("note", stage, f"while running the pass {name}") if name else None
    file = file_in_kernel(match["file"])
    if file is None:
        return _plain(_severity(match["kind"]), stage, match["message"])
    text = sources.get(match["file"])
    line, column = int(match["line"]), max(int(match["column"]), 1)
    span = Span(file, line, column)
    shown = excerpt(text.split("\n"), span) if text is not None else None
    message = match["message"][:LONGEST_MESSAGE]
    return diagnostic(
        _severity(match["kind"]), stage, message, hint=_hint(message), span=span, excerpt=shown
    )


def _plain(severity: str, stage: str, message: str) -> Diagnostic:
    message = message[:LONGEST_MESSAGE]
    return diagnostic(severity, stage, message, hint=_hint(message))


def _severity(kind: str) -> str:
    return "note" if kind == "remark" else kind


def _tells_something(said: Diagnostic) -> bool:
    message = str(said["message"])
    if said["severity"] == "note":
        return _IR_DUMP.match(message) is None
    return bool(message) and message not in _EMPTY


def _hint(message: str) -> str | None:
    for pattern, hint in _HINTS:
        if re.search(pattern, message):
            return hint
    return None
