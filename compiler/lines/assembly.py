"""The line map of PTX and AMD assembly: from `.loc`, which holds until the next one.

Inlined calls stand in the directive itself (`inlined_at`) or in its comment (`@[ file:line:...`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from compiler.lines.place import Chain, Mapped, Place
from compiler.lines.register import with_next_reads

_FILE = re.compile(r'\s*\.file\s+(\d+)\s+"((?:[^"\\]|\\.)*)"(?:\s+"((?:[^"\\]|\\.)*)")?')
_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)")
_INLINED_AT = re.compile(r"inlined_at\s+(\d+)\s+(\d+)")
_COMMENT_CALL = re.compile(r"@\[\s*([^\s:\]]+):(\d+)")
_INSTRUCTION = re.compile(r"\s+(?:\{\s*)?[@a-z]")
_RESET = re.compile(r"\s*\.(?:section|file)\b|(?:\$L__|\.L)func_end")
_ASM_BEGIN = re.compile(r"\s*(?:// begin inline asm|;;?#ASMSTART|; begin inline asm)")
_ASM_END = re.compile(r"\s*(?:// end inline asm|;;?#ASMEND|; end inline asm)")


def map_assembly(text: str) -> Mapped:
    """Return the line map of `text`."""
    files = _files(text)
    chains: dict[int, Chain] = {}
    operations: set[int] = set()
    chain: Chain = ()
    misleading = set(_misleading(text))
    for number, line in enumerate(text.splitlines(), 1):
        if _LOC.match(line):
            chain = chain if number in misleading else _chain(line, files)
        elif _RESET.match(line):
            chain = ()
        elif _INSTRUCTION.match(line):
            operations.add(number)
            if chain:
                chains[number] = chain
    known = frozenset(operations)
    return Mapped(with_next_reads(text.splitlines(), chains, known), known)


def _misleading(text: str) -> Iterator[int]:
    """Yield the lines of every `.loc` of an inline assembly but its first.

    LLVM counts the lines of an inline assembly text on from the line of the source that it stems
    from, so a load that Triton writes as five lines of assembly seems to stand four lines below.
    """
    within, seen = False, False
    for number, line in enumerate(text.splitlines(), 1):
        if _ASM_BEGIN.match(line):
            within, seen = True, False
        elif _ASM_END.match(line):
            within = False
        elif within and _LOC.match(line):
            if seen:
                yield number
            seen = True


def _files(text: str) -> dict[str, str]:
    found = (_FILE.match(line) for line in text.splitlines())
    return {m[1]: f"{m[2]}/{m[3]}" if m[3] else m[2] for m in found if m}


def _chain(line: str, files: dict[str, str]) -> Chain:
    match = _LOC.match(line)
    assert match is not None
    places = [(files.get(match[1]), match[2])]
    if called := _INLINED_AT.findall(line):
        places += [(files.get(number), at) for number, at in called]
    else:
        by_name = {path.rpartition("/")[2]: path for path in files.values()}
        places += [(by_name.get(name), at) for name, at in _COMMENT_CALL.findall(line)]
    return tuple(Place(file, int(at)) for file, at in places if file and int(at))
