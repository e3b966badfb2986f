"""Loops with a condition that count: `while k < end: ...; k += step`, as TTIR has them.

How often such a loop runs follows from numbers, as of `scf.for`. What it is made of is seen as the
lines go by; at its end it is known whether it is one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class CountedLoop:
    """A counter: the numbers that it begins with, is compared with, and grows by."""

    bounds: tuple[str, str, str]
    includes_end: bool
    argument: int
    """Which of the body's arguments it is."""


@dataclass(slots=True)
class ConditionalLoop:
    """What is seen of an `scf.while`; values are nodes."""

    place: int
    """Where its instruction is, among all."""
    carried: Sequence[tuple[str, str]]
    """What it carries, each with what it begins with."""
    condition: str = ""
    forwarded: Sequence[str] = ()
    """What the condition hands to the body."""
    arguments: list[tuple[str, int]] = field(default_factory=list)
    """Of the body, each with where its instruction is."""
    yielded: Sequence[str] = ()

    def counted(
        self,
        compared: Mapping[str, tuple[str, str, str]],
        sums: Mapping[str, tuple[str, str]],
    ) -> CountedLoop | None:
        """Return its counter, None where it has none.

        `compared` are the comparisons of the module by their results, `sums` its additions.
        """
        predicate, counter, end = compared.get(self.condition, ("", "", ""))
        names = [name for name, _ in self.carried]
        if predicate not in ("slt", "ult", "sle", "ule") or counter not in names or end in names:
            return None
        position = names.index(counter)
        if counter not in self.forwarded or len(self.yielded) <= position:
            return None
        argument = list(self.forwarded).index(counter)
        if len(self.arguments) <= argument:
            return None
        inside = [name for name, _ in self.arguments]
        terms = sums.get(self.yielded[position], ())
        steps = [term for term in terms if term != inside[argument]]
        if inside[argument] not in terms or len(steps) != 1 or steps[0] in inside:
            return None
        bounds = (self.carried[position][1], end, steps[0])
        return CountedLoop(bounds, predicate in ("sle", "ule"), argument)
