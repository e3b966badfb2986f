"""The line map of PTX and AMD assembly: from `.loc`, which holds until the next one.

Inlined calls are in the directive itself (`inlined_at`) or in its comment (`@[ file:line:...`).
LLVM leaves the line out where it merged code of several lines, and for constants that it moved:
such instructions get the place where their register is next read, further down, as control flow is
not followed.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from compiler.lines.source_location import InlineChain, LineMap, SourceLine

_INSTRUCTION = re.compile(
    r"\s+(?:\{\s*)?(?P<guard>@!?%\w+\s+)?(?P<name>[a-z][\w.:]*)\s*(?P<operands>.*)"
)
_COMMENT = re.compile(r"(?://|;).*$")
_REGISTER = re.compile(
    r"%[a-z_]+\d+|\b(?P<kind>[vsa])(?:\[(?P<first>\d+):(?P<last>\d+)\]|(?P<only>\d+))(?!\w)"
)
_ADDS_TO_WHAT_IT_WRITES = re.compile(r"wgmma\.mma")
_WRITES_NONE = re.compile(r"st\.|red\.|bra|bar|\w+_store|\w+_write|s_(?:waitcnt|c?branch|barrier)")


def with_next_reads(
    lines: Sequence[str], chains: Mapping[int, InlineChain], operations: frozenset[int]
) -> dict[int, InlineChain]:
    """Return `chains` with those of instructions that had none but whose result is read below.

    `operations` are 1-based numbers of `lines`.
    """
    completed = dict(chains)
    read: dict[str, InlineChain] = {}
    for number in sorted(operations, reverse=True):
        written, others = _registers(lines[number - 1])
        known = (read[name] for name in written if name in read)
        chain = completed.get(number) or next(known, ())
        for name in written:
            read.pop(name, None)
        if chain:
            completed[number] = chain
            read.update(dict.fromkeys(others, chain))
    return completed


def _registers(line: str) -> tuple[list[str], list[str]]:
    """Return the registers that an instruction writes, and those that it reads."""
    match = _INSTRUCTION.match(_COMMENT.sub("", line))
    if match is None:
        return [], []
    operands, guard = match["operands"], list(_names(match["guard"] or ""))
    # the address in brackets is read; copies and barriers have it first
    if _WRITES_NONE.match(match["name"]) or operands.startswith("["):
        return [], [*guard, *_names(operands)]
    end = operands.find("}") if operands.startswith("{") else operands.find(",")
    end = end if end >= 0 else len(operands)
    written = list(_names(operands[:end]))
    # under a guard the value may stay unchanged
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


_FILE = re.compile(r'\s*\.file\s+(\d+)\s+"((?:[^"\\]|\\.)*)"(?:\s+"((?:[^"\\]|\\.)*)")?')
_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)")
_INLINED_AT = re.compile(r"inlined_at\s+(\d+)\s+(\d+)\s+(\d+)")
_COMMENT_CALL = re.compile(r"@\[\s*([^\s:\]]+):(\d+)")
_ASSEMBLY_INSTRUCTION = re.compile(r"\s+(?:\{\s*)?[@a-z]")
_RESET = re.compile(r"\s*\.(?:section|file)\b|(?:\$L__|\.L)func_end")
_ASM_BEGIN = re.compile(r"\s*(?:// begin inline asm|;;?#ASMSTART|; begin inline asm)")
_ASM_END = re.compile(r"\s*(?:// end inline asm|;;?#ASMEND|; end inline asm)")


Position = tuple[str, str, str]  # number of the file, line and column, as they are written


def map_assembly(text: str) -> LineMap:
    """Return the line map of `text`."""
    files = _files(text)
    chains: dict[int, InlineChain] = {}
    operations: set[int] = set()
    callers: dict[Position, Position] = {}
    chain: InlineChain = ()
    misleading = set(misleading_locations(text.splitlines()))
    for number, line in enumerate(text.splitlines(), 1):
        if match := _LOC.match(line):
            chain = chain if number in misleading else _chain(match, files, callers)
        elif _RESET.match(line):
            chain = ()
        elif _ASSEMBLY_INSTRUCTION.match(line):
            operations.add(number)
            if chain:
                chains[number] = chain
    known = frozenset(operations)
    return LineMap(with_next_reads(text.splitlines(), chains, known), known)


def misleading_locations(lines: Sequence[str]) -> Iterator[int]:
    """Yield the 1-based numbers of every `.loc` inside of an inline assembly.

    LLVM counts the lines of an inline assembly text on from the line of the source that it stems
    from, so a load that Triton writes as five lines of assembly seems to be four lines below.
    The `.loc` before it is the one that holds.
    """
    within = False
    for number, line in enumerate(lines, 1):
        if _ASM_BEGIN.match(line):
            within = True
        elif _ASM_END.match(line):
            within = False
        elif within and _LOC.match(line):
            yield number


def _files(text: str) -> dict[str, str]:
    matches = (_FILE.match(line) for line in text.splitlines())
    return {m[1]: f"{m[2]}/{m[3]}" if m[3] else m[2] for m in matches if m}


def _chain(
    match: re.Match[str], files: dict[str, str], callers: dict[Position, Position]
) -> InlineChain:
    position = match[1], match[2], match[3]
    locations = [(files.get(match[1]), match[2])]
    if called := _INLINED_AT.search(match.string):
        callers[position] = called[1], called[2], called[3]
        locations += [(files.get(file), line) for file, line, _ in _calls(position, callers)]
    else:
        by_name = {path.rpartition("/")[2]: path for path in files.values()}
        calls = _COMMENT_CALL.findall(match.string)
        locations += [(by_name.get(name), at) for name, at in calls]
    return tuple(SourceLine(file, int(at)) for file, at in locations if file and int(at))


def _calls(position: Position, callers: dict[Position, Position]) -> Iterator[Position]:
    """Yield where `position` was inlined, and where that was, as the latest directives say.

    A directive has only the innermost call; those around it have had separate directives.
    """
    seen: set[Position] = set()
    while position in callers and position not in seen:
        seen.add(position)
        position = callers[position]
        yield position
