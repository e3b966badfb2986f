"""Expands spaces over a compilation and a launch, and returns variants or errors."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.rejection import RequestRejected
from sweeps.space import PlannedSweep, planned, read_space
from sweeps.sweep_request import kind_of_base
from sweeps.where import read_where

COMPILATION: dict[str, Any] = {
    "source": "a kernel",
    "target": "cuda:90",
    "constexprs": {"BLOCK": 64, "EVEN": True},
    "options": {"num_warps": 4},
}
LAUNCH: dict[str, Any] = {
    "compilation": {"source": "a kernel", "constexprs": {"BLOCK": 64}},
    "grid": ["cdiv(n, BLOCK)"],
    "arguments": {"x_ptr": {"shape": [8], "dtype": "fp32"}, "n": 8},
}


def plan(space: Any, *where: str, base: dict[str, Any] = COMPILATION, most: int = 100):
    kind = kind_of_base(base)
    return planned(base, kind, read_space(space, kind, 10_000), read_where(where), most)


def rows(found: PlannedSweep) -> list[tuple[Any, ...]]:
    return [tuple(found.plan.values(index).values()) for index in range(len(found.plan))]


def refusals(*arguments: Any, **named: Any) -> list[tuple[str, str]]:
    with pytest.raises(RequestRejected) as caught:
        plan(*arguments, **named)
    return [(error.pointer, error.message) for error in caught.value.errors]


def pointers(space: Any, *where: str, base: dict[str, Any]) -> list[str]:
    """Return the pointer of an error; without one, all bodies must match the base."""
    try:
        found = plan(space, *where, base=base)
    except RequestRejected as rejected:
        return [error.pointer for error in rejected.errors]
    assert all(variant.body.keys() >= base.keys() for variant in found.plan.variants())
    return []
