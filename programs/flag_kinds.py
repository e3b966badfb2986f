"""The kinds of flags of programs, and those that make a program incorrect.

Standard library only: what reads a tape imports it.
"""

from collections.abc import Iterable
from itertools import islice
from typing import Final, Literal, Protocol, TypeVar, get_args

FlagKind = Literal[
    "no_kernel",
    "dead_launch",
    "cached_result",
    "constant_output",
    "returned_input",
    "unwritten_output",
    "torch_did_the_work",
    "precision_downgrade",
    "value_dependent",
    "precomputed",
    "prepared_work",
    "insensitive_output",
    "right_only_for_its_inputs",
    "side_effect_missing",
    "state_kept",
    "impossible_time",
    "race",
    "sandbox_attempt",
]
FLAG_KINDS: Final[tuple[FlagKind, ...]] = get_args(FlagKind)
SERIOUS: Final[tuple[FlagKind, ...]] = (
    "no_kernel",
    "torch_did_the_work",
    "cached_result",
    "state_kept",
    "right_only_for_its_inputs",
    "side_effect_missing",
    "precision_downgrade",
    "impossible_time",
    "race",
    "sandbox_attempt",
)
"""The kinds that make a program incorrect unless an operator chooses others."""
NONE: Final = "none"
"""The text of a choice without any kind."""


class HasFlagKind(Protocol):
    """A flag of a tape or of a program."""

    @property
    def kind(self) -> FlagKind:
        """The kind of the flag."""


AnyFlag = TypeVar("AnyFlag", bound=HasFlagKind)


def without_excess(flags: Iterable[AnyFlag], most: int) -> list[AnyFlag]:
    """Return `most` flags without duplicates, the first of each kind always among them.

    So a program cannot hide one kind behind many flags of another.
    """
    distinct = list(dict.fromkeys(flags))
    first = {flag.kind: flag for flag in reversed(distinct)}.values()
    others = (flag for flag in distinct if flag not in first)
    kept = {*first, *islice(others, max(0, most - len(first)))}
    return [flag for flag in distinct if flag in kept]


def chosen_kinds(written: str | None) -> tuple[FlagKind, ...]:
    """Return the kinds that `written` lists, separated by commas; None: `SERIOUS`.

    Raises ValueError for a kind that does not exist.
    """
    if written is None:
        return SERIOUS
    names = {name.strip() for name in written.split(",")} - {"", NONE}
    if unknown := sorted(names.difference(FLAG_KINDS)):
        message = f"{unknown[0]!r} is not a flag of programs; choose from {', '.join(FLAG_KINDS)}"
        raise ValueError(message)
    return tuple(kind for kind in FLAG_KINDS if kind in names)
