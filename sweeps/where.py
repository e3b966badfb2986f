"""Conditions of a sweep's `where`: expressions over a variant's values that are true or false."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from compiler.rejection import FieldError, RequestRejected, did_you_mean, listed, shown
from launch.expression import (
    CHARACTERS,
    GRAMMAR,
    Expression,
    OpaqueArgument,
    read_expression,
)
from launch.formula import Bounds, FormulaFailed

BOUNDS: Final = Bounds(max_chars=256, max_nodes=64, characters=CHARACTERS, grammar=GRAMMAR)
GROUPS: Final = ("constexprs", "arguments", "options")
"""Where a bare name is looked for, in this order."""

Values = Mapping[str, bool | int | float | str | OpaqueArgument | None]
"""Values of one variant: `constexprs.BLOCK`, `options.num_warps`, `arguments.n`, `target`, ..."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One expression of `where`, read; `at` is where the request has it."""

    expression: Expression
    at: str

    def holds(self, values: Values, defaults: Values) -> bool:
        """Return whether a variant with these values stays; `defaults` are for the other names.

        Raises FormulaFailed for a name that it does not have, a division by zero, what cannot be
        compared, and what is neither true nor false.
        """
        value = self.expression.value(_Named(values, defaults))
        if not isinstance(value, bool):
            raise FormulaFailed(f"is {shown(value)}, not true or false; compare it")
        return value


def read_where(texts: Sequence[str]) -> tuple[Condition, ...]:
    """Read the conditions. Raises RequestRejected with an error for each invalid text."""
    errors: list[FieldError] = []
    conditions = []
    for index, text in enumerate(texts):
        at = f"/where/{index}"
        try:
            conditions.append(Condition(read_expression(text, BOUNDS, GROUPS), at))
        except FormulaFailed as failed:
            errors.append(FieldError(at, f"{shown(text)}: {failed}"))
    if errors:
        raise RequestRejected(*errors)
    return tuple(conditions)


class _Named(Mapping[str, Any]):
    """The values as conditions look them up: by bare names, too; each name is there, or told."""

    def __init__(self, values: Values, defaults: Values) -> None:
        self._values = values
        self._defaults = defaults

    def __getitem__(self, name: str) -> Any:
        for values in (self._values, self._defaults):
            for known in spellings(name):
                if known in values:
                    return values[known]
        raise FormulaFailed(_unknown(name, self._values, self._defaults))

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def spellings(name: str) -> list[str]:
    """Return what a name in a condition may refer to; the first that exists counts."""
    return [name, *(f"{group}.{name}" for group in GROUPS)]


def _unknown(name: str, values: Values, defaults: Values) -> str:
    known, left_open = _bare(values), _bare(defaults)
    there = listed(known)
    if left_open:
        there += f", and {len(left_open)} options by their defaults"
    meant = did_you_mean(name, [*known, *left_open])
    return f"there is no value named {shown(name)}.{meant} Known are {there}"


def _bare(values: Values) -> list[str]:
    return sorted({text.partition(".")[2] or text for text in values})
