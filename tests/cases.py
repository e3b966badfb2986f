"""Parametrised cases of which `make test` runs a few, and `make test-slow` the rest."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import Any, TypeVar

import pytest

T = TypeVar("T")


def slow_except(
    quick: Container[Any], cases: Iterable[T], name: Callable[[T], Any] = lambda case: case
) -> list[Any]:
    """Return `cases`, with the mark `slow` on each whose `name` is not in `quick`."""
    return [case if name(case) in quick else _slow(case) for case in cases]


def _slow(case: object) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.slow)
