"""Writes the user's lines over instructions of which nvdisasm only knows the line of PTX.

The line table that ptxas writes for the user's file is wrong in inline assembly (see `assembly`);
the lines of the PTX itself are not, and from there our own map leads on.
"""

from __future__ import annotations

import re

from compiler.lines.assembly import map_assembly
from compiler.lines.place import Chain, Mapped

_PTX_LINE = re.compile(r'\s*//## File "\.nv_debug_ptx_txt", line (\d+)')


def with_source_lines(sass: str, ptx: str) -> str:
    """Return `sass`, made by `nvdisasm -gp` of what `ptx` was assembled to, with comments for both.

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


def _entry_chain(mapped: Mapped) -> Chain:
    """Return the place of the prologue: where the kernel begins, so the first that there is."""
    return mapped.chains[min(mapped.chains)] if mapped.chains else ()


def _comments(chain: Chain) -> list[str]:
    """Return a comment for every place, each with where it was inlined."""
    comments = []
    for index, place in enumerate(chain):
        caller = chain[index + 1] if index + 1 < len(chain) else None
        inlined = f' inlined at "{caller.file}", line {caller.line}' if caller else ""
        comments.append(f'\t//## File "{place.file}", line {place.line}{inlined}')
    return comments
