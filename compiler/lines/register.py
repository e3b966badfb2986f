"""Gives instructions without a line the place where the register that they write is next read.

LLVM leaves the line out where it merged code of several lines, and for constants that it moved.
Control flow is not followed: next means further down.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from compiler.lines.place import Chain

_INSTRUCTION = re.compile(
    r"\s+(?:\{\s*)?(?P<guard>@!?%\w+\s+)?(?P<name>[a-z][\w.:]*)\s*(?P<operands>.*)"
)
_COMMENT = re.compile(r"\s*(?://|;).*$")
_REGISTER = re.compile(
    r"%[a-z_]+\d+|\b(?P<kind>[vsa])(?:\[(?P<first>\d+):(?P<last>\d+)\]|(?P<only>\d+))(?!\w)"
)
_ADDS_TO_WHAT_IT_WRITES = re.compile(r"wgmma\.mma")
_WRITES_NONE = re.compile(r"st\.|red\.|bra|bar|\w+_store|\w+_write|s_(?:waitcnt|c?branch|barrier)")


def with_next_reads(
    lines: Sequence[str], chains: Mapping[int, Chain], operations: frozenset[int]
) -> dict[int, Chain]:
    """Return `chains` with those of instructions that had none but whose result is read below.

    `operations` are 1-based numbers of `lines`.
    """
    found = dict(chains)
    read: dict[str, Chain] = {}
    for number in sorted(operations, reverse=True):
        written, others = _registers(lines[number - 1])
        known = (read[name] for name in written if name in read)
        chain = found.get(number) or next(known, ())
        for name in written:
            read.pop(name, None)
        if chain:
            found[number] = chain
            read.update(dict.fromkeys(others, chain))
    return found


def _registers(line: str) -> tuple[list[str], list[str]]:
    """Return the registers that an instruction writes, and those that it reads."""
    match = _INSTRUCTION.match(_COMMENT.sub("", line))
    if match is None:
        return [], []
    operands, guard = match["operands"], list(_names(match["guard"] or ""))
    # what is in brackets is an address, which is read: of copies and barriers it comes first
    if _WRITES_NONE.match(match["name"]) or operands.startswith("["):
        return [], [*guard, *_names(operands)]
    end = operands.find("}") if operands.startswith("{") else operands.find(",")
    end = end if end >= 0 else len(operands)
    written = list(_names(operands[:end]))
    # under a guard the value may stay what it was
    read = written if guard or _ADDS_TO_WHAT_IT_WRITES.match(match["name"]) else []
    return written, [*guard, *read, *_names(operands[end:])]


def _names(operands: str) -> Iterator[str]:
    for match in _REGISTER.finditer(operands):
        if match["kind"] is None:
            yield match[0]
            continue
        first = int(match["first"] or match["only"])
        for number in range(first, int(match["last"] or first) + 1):
            yield f"{match['kind']}{number}"
