"""The parameters of posted IR in a launch: each by its own name, or as `arg` and its position."""

from collections.abc import Container, Mapping, Sequence
from typing import TypeVar

_Item = TypeVar("_Item")


def names_as_given(names: Sequence[str], given: Container[str]) -> list[str]:
    """Return the names by which a launch passes the parameters `names`, in their order."""
    positional = [f"arg{position}" for position in range(len(names))]
    return [
        position if name not in given and position in given else name
        for name, position in zip(names, positional, strict=True)
    ]


def as_given(by_name: Mapping[str, _Item], given: Container[str]) -> dict[str, _Item]:
    """Return what is known of the parameters, in their order, by the names that a launch uses."""
    return dict(zip(names_as_given(list(by_name), given), by_name.values(), strict=True))
