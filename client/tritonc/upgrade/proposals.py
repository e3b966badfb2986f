"""Settings that may give a kernel its old budget back with the newer Triton, and their patch.

Only settings that were compiled are proposed, `MAX_TRIED` of a kernel at most. They are not timed.
"""

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from tritonc.gate.cell_numbers import CellNumbers
from tritonc.gate.cells import Cell
from tritonc.gate.report_text import shown_path
from tritonc.signature_sources import shown_value

MAX_WARPS, MIN_BLOCK = 16, 16
REGISTER_STEPS = (168, 128, 96, 80, 64, 48, 40, 32)
"""Registers of a thread at which more warps fit NVIDIA's multiprocessors."""
MAX_REGISTER_STEPS = 2
MAX_TRIED: Final = 24
"""Settings that are compiled for a kernel and target: a source can have hundreds of constexprs."""
_CONTEXT_LINES: Final = 2
_COMMENT = re.compile(r"\s*# tritonc:")


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    """A cell with one changed setting; `member` is `options` or `constexprs`."""

    cell: Cell
    member: str
    name: str
    before: Any
    value: Any

    def __str__(self) -> str:
        """Return the change as text."""
        return f"{self.name} {self.before} -> {self.value}"


def proposals(cell: Cell, numbers: CellNumbers) -> Iterator[Proposal]:
    """Yield the settings to try: first those of options, which need no other grid."""
    for name, value in _options(numbers):
        yield _changed(cell, "options", name, numbers.settings[name], value)
    for name, size in (cell.kernel.members.get("constexprs") or {}).items():
        for smaller in _smaller_blocks(size):
            yield _changed(cell, "constexprs", name, size, smaller)


def _options(numbers: CellNumbers) -> Iterator[tuple[str, int | None]]:
    warps, stages = (numbers.settings.get(name) for name in ("num_warps", "num_stages"))
    if isinstance(warps, int):
        tried = (warps * 2, warps // 2, warps * 4)
        yield from (("num_warps", value) for value in tried if 1 <= value <= MAX_WARPS)
    if isinstance(stages, int):
        yield from (("num_stages", value) for value in (stages - 1, stages + 1) if value >= 1)
    if "maxnreg" in numbers.settings:
        registers = numbers.metrics.get("registers", 0)
        if numbers.settings["maxnreg"] is not None:
            yield "maxnreg", None
        below = [step for step in REGISTER_STEPS if step < registers]
        yield from (("maxnreg", step) for step in below[:MAX_REGISTER_STEPS])


def _smaller_blocks(size: Any) -> list[int]:
    """Return what to try instead of a block size: a half and a quarter."""
    is_block = type(size) is int and size > 0 and size & (size - 1) == 0
    return [s for s in (size // 2, size // 4) if s >= MIN_BLOCK] if is_block else []


def _changed(cell: Cell, member: str, name: str, before: Any, value: Any) -> Proposal:
    kernel = cell.kernel
    present = kernel.members.get(member) or {}
    members = {**kernel.members, member: {**present, name: value}}
    changed = replace(cell, kernel=replace(kernel, members=members))
    return Proposal(changed, member, name, before, value)


def patch(proposal: Proposal) -> str:
    """Return a unified diff that writes the setting into the kernel's `# tritonc:` comment."""
    kernel = proposal.cell.kernel
    lines = kernel.source.splitlines(keepends=True)
    at = _head(kernel.source, str(kernel.members.get("kernel")))
    if at is None:
        return ""
    word = f"{proposal.name}={shown_value(proposal.value)}"
    written = rf"(?<!\S){re.escape(proposal.name)}=\S+"
    first = at
    while first > 0 and _COMMENT.match(lines[first - 1]):
        first -= 1
    place = next((i for i in range(first, at) if re.search(written, lines[i])), None)
    if place is not None:
        hunk = _hunk(lines, place, 1, re.sub(written, lambda _: word, lines[place], count=1))
    elif first < at:
        hunk = _hunk(lines, at - 1, 1, f"{lines[at - 1].rstrip()} {word}\n")
    else:
        indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        hunk = _hunk(lines, at, 0, f"{indent}# tritonc: {word}\n")
    shown = shown_path(kernel.path).lstrip("/")
    return f"--- a/{shown}\n+++ b/{shown}\n{hunk}" if hunk else ""


def _hunk(lines: Sequence[str], place: int, removed: int, line: str) -> str:
    """Return the hunk that writes `line` in the place of `removed` lines, 0 or 1.

    difflib would compare all lines, and its time can grow with the square of their number.
    """
    if list(lines[place : place + removed]) == [line]:
        return ""
    before = lines[max(0, place - _CONTEXT_LINES) : place]
    after = lines[place + removed : place + removed + _CONTEXT_LINES]
    size = len(before) + len(after)
    start = place - len(before) + 1
    written = [
        *(" " + each for each in before),
        *("-" + each for each in lines[place : place + removed]),
        "+" + line,
        *(" " + each for each in after),
    ]
    head = f"@@ -{_range(start, size + removed)} +{_range(start, size + 1)} @@\n"
    return head + "".join(map(_ended, written))


def _range(start: int, size: int) -> str:
    return str(start) if size == 1 else f"{start},{size}"


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _head(text: str, name: str) -> int | None:
    """Return the index of the line of a kernel's first decorator, None if there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in the user's string literals
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return min([node.lineno, *(item.lineno for item in node.decorator_list)]) - 1
    return None
