"""Lanes without a defined value: the values that a run puts there, and the first such lane."""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class Filling:
    """Other values than zeros for undefined lanes of the operations with these `numbers`.

    Lanes and programs differ; another `rotation` gives each lane another value.
    """

    numbers: Collection[int]
    rotation: int = 0


@dataclass(frozen=True)
class UndefinedLane:
    """The first lane of an operation that had no value, and how many had none with it."""

    program: tuple[int, int, int]
    lane: tuple[int, ...]
    count: int
