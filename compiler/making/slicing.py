"""Cuts a module down to what its kernel reaches.

Unreached lines are blanked, never removed: positions stay.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from compiler.making.outline import Block, Outline, Unit

_BUILTINS = frozenset(dir(builtins)) | {
    "__name__",
    "__file__",
    "__doc__",
    "__package__",
    "__spec__",
}
_OPAQUE = frozenset({"globals", "locals", "vars", "exec", "eval", "__import__", "compile"})


@dataclass(frozen=True)
class Reach:
    """The units a kernel reaches, and the names that nothing in the module binds."""

    units: list[Unit]
    unbound: frozenset[str]

    @property
    def opaque(self) -> frozenset[str]:
        """What the kernel reaches that no reading of the text can follow."""
        return frozenset(name for unit in self.units for name in unit.reads & _OPAQUE)


def reach(outline: Outline, roots: Iterable[str]) -> Reach:
    """Return everything that the names `roots` reach, transitively."""
    by_name: dict[str, list[Unit]] = {}
    for unit in outline.units:
        for name in unit.binds:
            by_name.setdefault(name, []).append(unit)
    kept: dict[int, Unit] = {id(u): u for u in outline.units if _is_future(u)}
    waiting, seen = list(roots), set(roots)
    while waiting:
        for unit in by_name.get(waiting.pop(), []):
            if id(unit) in kept:
                continue
            kept[id(unit)] = unit
            new = (unit.reads | _block_reads(unit.parent)) - seen
            seen |= new
            waiting += new
    unbound = frozenset(seen) - by_name.keys() - _BUILTINS
    if unbound:
        kept |= {id(u): u for u in outline.units if star_imports(u)}
    return Reach([unit for unit in outline.units if id(unit) in kept], unbound)


def star_imports(unit: Unit) -> list[str]:
    """Return the modules that a unit imports everything from."""
    return [
        "." * node.level + (node.module or "")
        for node in unit.nodes
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
    ]


def sliced(lines: Sequence[str], outline: Outline, units: Sequence[Unit]) -> list[str]:
    """Return `lines` with all blanked but `units` and each `if` and `try` around them."""
    kept = [""] * len(lines)
    kept_blocks = {id(block) for unit in units for block in _around(unit)}
    for block, _ in outline.bodies:
        inside = block.parent is None or id(block.parent) in kept_blocks
        if id(block) in kept_blocks:
            _copy(lines, kept, block.first_line, block.last_line)
        elif inside:
            _blank(kept, block.first_line, block.last_line)
    for unit in outline.units:
        if unit.parent is not None and id(unit.parent) in kept_blocks:
            _blank(kept, unit.first_line, unit.last_line)
    for unit in units:
        _copy(lines, kept, unit.first_line, unit.last_line)
        for first, last in unit.blanked:
            _blank(kept, first, last)
    chosen = {id(unit) for unit in units}
    for block, body in outline.bodies:
        if id(block) in kept_blocks and not any(id(unit) in chosen for unit in body):
            _fill_empty(kept, lines, body[0])
    return kept


def blanked_ranges(lines: Sequence[str], kept: Sequence[str]) -> list[list[int]]:
    """Return the ranges of lines that said something and were blanked, as `[first, last]`."""
    ranges: list[list[int]] = []
    for number, (before, after) in enumerate(zip(lines, kept, strict=True), 1):
        if before.strip() and not after.strip():
            if ranges and all(not line.strip() for line in lines[ranges[-1][1] : number - 1]):
                ranges[-1][1] = number
            else:
                ranges.append([number, number])
    return ranges


def _is_future(unit: Unit) -> bool:
    return any(
        isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in unit.nodes
    )


def _around(unit: Unit) -> list[Block]:
    found, block = [], unit.parent
    while block is not None:
        found.append(block)
        block = block.parent
    return found


def _block_reads(block: Block | None) -> frozenset[str]:
    found: frozenset[str] = frozenset()
    while block is not None:
        found |= block.reads
        block = block.parent
    return found


def _copy(lines: Sequence[str], kept: list[str], first: int, last: int) -> None:
    kept[first - 1 : last] = lines[first - 1 : last]


def _blank(kept: list[str], first: int, last: int) -> None:
    kept[first - 1 : last] = [""] * (last - first + 1)


def _fill_empty(kept: list[str], lines: Sequence[str], unit: Unit) -> None:
    """Put `pass` where a kept `if` or `try` would have an empty block."""
    text = lines[unit.first_line - 1]
    indent = text[: len(text) - len(text.lstrip())]
    kept[unit.first_line - 1] = f"{indent}pass"
