"""The line map of SASS: comments as `nvdisasm -gi` writes them hold for the instructions below.

The line table that ptxas writes for the user's file is wrong in inline assembly (see `assembly`);
the lines of the PTX are not, and from there our own map leads on to the user's.
"""

import re

from compiler.lines.assembly import map_assembly
from compiler.lines.source_location import InlineChain, LineMap, SourceLine

_COMMENT = re.compile(r"\s*//## ")
_PLACE = re.compile(r'"([^"]+)", line (\d+)')
_INSTRUCTION = re.compile(r"\s*/\*[0-9a-f]{4,}\*/\s+\S")


def map_sass(text: str) -> LineMap:
    """Return the line map of `text`. Consecutive comments tell one chain, innermost first."""
    chains: dict[int, InlineChain] = {}
    operations: set[int] = set()
    locations: list[SourceLine] = []
    collecting = False
    for number, line in enumerate(text.splitlines(), 1):
        if _COMMENT.match(line):
            locations = locations if collecting else []
            named = [SourceLine(file, int(at)) for file, at in _PLACE.findall(line) if int(at)]
            # each comment of a group begins where the one before it was inlined
            locations += [location for location in named if location not in locations]
            collecting = True
            continue
        collecting = False
        if line.lstrip().startswith(".section"):
            locations = []
        if _INSTRUCTION.match(line):
            operations.add(number)
            if locations:
                chains[number] = tuple(locations)
    return LineMap(chains, frozenset(operations))


_PTX_LINE = re.compile(r'\s*//## File "\.nv_debug_ptx_txt", line (\d+)')


def with_source_lines(sass: str, ptx: str) -> str:
    """Return `sass`, from `nvdisasm -gp` of the assembled `ptx`, with comments for both.

    The comments for source files are those of `nvdisasm -gi`.
    """
    mapped = map_assembly(ptx)
    entry = _entry_chain(mapped)
    lines = []
    for line in sass.splitlines():
        match = _PTX_LINE.match(line)
        if match is None:
            lines.append(line)
            continue
        number = int(match[1])
        before_all = number < min(mapped.operations, default=0)
        chain = entry if before_all else mapped.chains.get(number, ())
        lines += [*_comments(chain), f"\t//## PTX, line {number}"]
    return "\n".join(lines) + "\n"


def _entry_chain(mapped: LineMap) -> InlineChain:
    """Return the place of the prologue: where the kernel begins, so the first that there is."""
    return mapped.chains[min(mapped.chains)] if mapped.chains else ()


def _comments(chain: InlineChain) -> list[str]:
    """Return a comment for every place, each with where it was inlined."""
    comments = []
    for index, location in enumerate(chain):
        caller = chain[index + 1] if index + 1 < len(chain) else None
        inlined = f' inlined at "{caller.file}", line {caller.line}' if caller else ""
        comments.append(f'\t//## File "{location.file}", line {location.line}{inlined}')
    return comments
