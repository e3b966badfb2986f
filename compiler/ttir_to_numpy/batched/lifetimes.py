"""Has a function forget each value after its last use, so that memory is bounded and stays warm.

Works on lines, in time linear in them: names are assigned once except those that loops carry, and
that is left alone.
"""

import re
from collections import defaultdict

from compiler.ttir_to_numpy.scope import Line

_ASSIGNED = re.compile(r"((?:\w+, )*\w+),? = ")
_WORD = re.compile(r"\w+")
_GOES_ON = ("else:", "elif ")
_LEAVES = ("return", "break")


def with_deletions(lines: list[Line]) -> list[Line]:
    """Return the lines of one function with a `del` after the last use of each single name."""
    defined = _defined(lines)
    last = _last_uses(lines, defined)
    ends = _suite_ends(lines)
    gone: dict[tuple[int, int], list[str]] = defaultdict(list)
    for name, first in defined.items():
        use = last[name]
        if use >= ends[first] or lines[use].text.startswith(_LEAVES):
            continue
        depth = lines[first].depth
        gone[_after(lines, use, depth, ends), depth].append(name)
    depths: dict[int, list[int]] = defaultdict(list)
    for index, depth in sorted(gone, reverse=True):
        depths[index].append(depth)
    written: list[Line] = []
    for index, line in enumerate(lines):
        written += [
            Line(depth, f"del {', '.join(gone[index, depth])}") for depth in depths.get(index, ())
        ]
        written.append(line)
    return written


def _defined(lines: list[Line]) -> dict[str, int]:
    """Return where each name is assigned that is so once, and that no inner function uses."""
    defined: dict[str, int] = {}
    several = set[str]()
    inner: int | None = None
    for index, line in enumerate(lines):
        inner = None if inner is not None and line.depth <= inner else inner
        if inner is not None:
            several.update(_WORD.findall(line.text))
        elif line.text.startswith(("def ", "for ")):  # what these name, loops may carry
            several.update(_WORD.findall(line.text.partition(" in ")[0]))
            inner = line.depth if line.depth and line.text.startswith("def ") else None
        elif match := _ASSIGNED.match(line.text):
            for name in match[1].split(", "):
                if name in defined:
                    several.add(name)
                defined[name] = index
    return {name: index for name, index in defined.items() if name not in several}


def _last_uses(lines: list[Line], defined: dict[str, int]) -> dict[str, int]:
    last = dict(defined)
    for index, line in enumerate(lines):
        for word in _WORD.findall(line.text):
            if word in last:
                last[word] = index
    return last


def _suite_ends(lines: list[Line]) -> list[int]:
    """Return for each line where the lines end that are indented as much or more."""
    ends = [len(lines)] * len(lines)
    opened: list[int] = []
    for index, line in enumerate(lines):
        while opened and lines[opened[-1]].depth > line.depth:
            ends[opened.pop()] = index
        opened.append(index)
    return ends


def _after(lines: list[Line], use: int, depth: int, ends: list[int]) -> int:
    """Return the line before which to delete values last used by a statement at `depth`."""
    at = use + 1
    while at < len(lines):
        line = lines[at]
        if line.depth > depth:
            at = ends[at]
        elif line.depth == depth and line.text.startswith(_GOES_ON):
            at += 1
        else:
            break
    return at
