"""The first pass of the compiler whose result differs between two Tritons.

Two Tritons print modules differently, so texts are not compared. Operations and layouts are
counted: the pass is the first of equal name after which the counts differ more than before it.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MOST_SHOWN = 3
_OPERATION = re.compile(r"(?m)^\s*(?:%[\w#:, %]+ = )?\"?([a-z][a-z_0-9]*\.[a-z][\w.]*)")
_LAYOUT = re.compile(r"(?m)^#\w+ = #(\w+\.\w+<.*>)$")
_LLVM = re.compile(r"(?m)^\s+(?:%[\w.]+ = )?(?:tail )?([a-z]+)\b(?:[^@\n]*@([\w.]+))?")


@dataclass(frozen=True, slots=True)
class ResponsiblePass:
    """A pass, its stage, and what differs after it: `ttg.convert_layout 1 -> 4`."""

    stage: str
    name: str
    differences: tuple[str, ...]

    def __str__(self) -> str:
        """Return it in one line."""
        differences = ", ".join(self.differences)
        return f"pass {self.name} ({self.stage}): {differences}"


def responsible_pass(old: Mapping[str, Any], new: Mapping[str, Any]) -> ResponsiblePass | None:
    """Return the first pass that makes a difference between two answers of `Client.passes`.

    None means that Triton's own passes agree: the assembler, or LLVM's code generation, differs.
    """
    before = _by_pass(old)
    known: Counter[str] = Counter()
    for place, counts in _by_pass(new).items():
        if place not in before:
            continue
        delta = Counter(counts)
        delta.subtract(before[place])
        changed = {n: c for n, c in delta.items() if c and c != known[n]}
        if changed and sum(map(abs, delta.values())) > sum(map(abs, known.values())):
            largest = sorted(changed, key=lambda n: (-abs(changed[n]), n))[:MOST_SHOWN]
            shown = tuple(f"{n} {before[place][n]} -> {counts[n]}" for n in largest)
            return ResponsiblePass(place[0], place[1], shown)
        known = delta
    return None


def _by_pass(answer: Mapping[str, Any]) -> dict[tuple[str, str, int], Counter[str]]:
    """Return the counts after each pass, by stage, name and how many of that name came before."""
    found: dict[tuple[str, str, int], Counter[str]] = {}
    seen: Counter[tuple[str, str]] = Counter()
    counts: Counter[str] = Counter()
    for step in _steps(answer):
        stage, name = str(step["stage"]), str(step["name"])
        if step.get("after") is not None:
            counts = Counter(_things(str(step["after"])))
        found[stage, name, seen[stage, name]] = counts
        seen[stage, name] += 1
    return found


def _steps(answer: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    steps = answer.get("passes")
    return [step for step in steps if isinstance(step, Mapping)] if isinstance(steps, list) else []


def _things(text: str) -> Iterator[str]:
    """Yield the operations and the layouts of a module, or the instructions of LLVM."""
    if text.lstrip().startswith((";", "source_filename", "target ", "define ", "@")):
        for match in _LLVM.finditer(text):
            yield " ".join(filter(None, match.groups()))
        return
    yield from _OPERATION.findall(text)
    yield from _LAYOUT.findall(text)
