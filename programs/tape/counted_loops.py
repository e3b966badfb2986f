"""Recognizes counting loops in TTIR: `while k < end: ...; k += step`.

Their number of trips follows from numbers, as for `scf.for`. The reader collects the parts of a
loop line by line, and decides at its end.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class CountedLoop:
    """A counter: its first value, the end that it is compared with, and its step."""

    bounds: tuple[str, str, str]
    includes_end: bool
    argument: int
    """The position of the counter among the body's arguments."""


@dataclass(slots=True)
class ConditionalLoop:
    """The parts of an `scf.while` read so far; values are nodes of the flow."""

    place: int
    """The index of its instruction."""
    carried: Sequence[tuple[str, str]]
    """The carried values, each with its initial value."""
    condition: str = ""
    forwarded: Sequence[str] = ()
    """The values that the condition passes to the body."""
    arguments: list[tuple[str, int]] = field(default_factory=list)
    """The arguments of the body, each with the index of its instruction."""
    yielded: Sequence[str] = ()

    def counted(
        self,
        compared: Mapping[str, tuple[str, str, str]],
        sums: Mapping[str, tuple[str, str]],
    ) -> CountedLoop | None:
        """Return its counter, None if it has none.

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
