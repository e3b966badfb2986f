"""A diff of twice as many lines takes twice the time, however similar they are."""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Sequence

import pytest

from compiler.diff.stage_diff import stage_diff

FIRST, DOUBLINGS = 3_000, 2
MAX_GROWTH = 3.3
"""Growth per doubling: 2 is linear, 4 quadratic."""
TOO_SHORT_TO_MEASURE_S = 0.02


def _shuffled(lines: Sequence[str]) -> list[str]:
    return random.Random(1).sample(lines, len(lines))


def _either(lines: int, seed: int) -> list[str]:
    drawn = random.Random(seed)
    return [drawn.choice(("  a.b", "  c.d")) for _ in range(lines)]


TEXTS: dict[str, Callable[[int], tuple[Sequence[str], Sequence[str]]]] = {
    "equal lines": lambda n: (["  a.b"] * n, ["  a.b"] * (n - 7)),
    "equal lines of which none is the other's": lambda n: (["  a.b"] * n, ["  c.d"] * n),
    "two lines in turn": lambda n: (["  a.b", "  c.d"] * (n // 2), ["  c.d", "  a.b"] * (n // 2)),
    "two lines in turn and in pairs": lambda n: (
        ["  a.b", "  c.d"] * (n // 2),
        ["  a.b", "  a.b", "  c.d", "  c.d"] * (n // 4),
    ),
    "two lines by chance": lambda n: (_either(n, 1), _either(n, 2)),
    "lines in another order": lambda n: (
        [f"  a.{i}" for i in range(n)],
        _shuffled([f"  a.{i}" for i in range(n)]),
    ),
    "lines from behind": lambda n: (
        [f"  a.{i}" for i in range(n)],
        [f"  a.{i}" for i in reversed(range(n))],
    ),
    "values in another order": lambda n: (
        [f"  %{i} = a.b %{i - 1}" for i in range(n)],
        [f"  %{i} = a.b %{i // 2}" for i in range(n)],
    ),
    "one line of many values": lambda n: (
        [" ".join(f"%{i}" for i in range(n))],
        [" ".join(f"%{i // 2}" for i in range(n))],
    ),
    "functions of one line": lambda n: (
        [f"  tt.func @f(%{i}: i32)" for i in range(n)],
        [f"  tt.func @f(%{i // 3}: i32)" for i in range(n)],
    ),
}


def _spent_s(name: str, lines: int, times: int) -> float:
    a, b = ("\n".join(side) for side in TEXTS[name](lines))

    def once() -> float:
        gc.collect()
        gc.disable()  # other objects of this process are not the diff's
        started = time.process_time()
        stage_diff("ttir", a, b)
        spent_s = time.process_time() - started
        gc.enable()
        return spent_s

    return max(min(once() for _ in range(times)), TOO_SHORT_TO_MEASURE_S)


@pytest.mark.parametrize("name", TEXTS)
def test_twice_the_lines_take_twice_the_time(name: str) -> None:
    def has_grown(times: int) -> bool:
        before_s, after_s = (_spent_s(name, n, times) for n in (FIRST, FIRST << DOUBLINGS))
        return after_s > before_s * MAX_GROWTH**DOUBLINGS

    assert not (has_grown(1) and has_grown(5))  # repeat: something else took time
