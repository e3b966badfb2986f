"""Finished sweeps over launches, with rows and winners, as the service has them."""

from __future__ import annotations

from typing import Any

from sweeps.sweep_plan import SweepPlan, SweptAxis
from sweeps.winners.winner import UsableWinner, usable_winner

BASE: dict[str, Any] = {
    "compilation": {
        "source": "...",
        "constexprs": {"ACT": "relu"},
        "options": {"num_stages": 2},
        "target": "cuda:90",
    },
    "grid": [1],
    "arguments": {
        "x": {"shape": [4096], "dtype": "float16"},
        "alias": {"view": {"of": "x", "offset": 0}},
        "M": 4096,
        "eps": {"value": 0.5, "dtype": "fp32"},
        "tile": {"descriptor": {"base": {"shape": [4], "dtype": "fp16"}, "block_shape": [4]}},
    },
}
SIZES: list[Any] = [{"M": 64}, {"M": 4096}]


def plan(**changes: Any) -> SweepPlan:
    """Two block sizes by two numbers of warps, on two sizes; a heuristic sets EVEN."""
    axes = [
        SweptAxis(name="constexprs.BM", values=[16, 32]),
        SweptAxis(name="options.num_warps", values=[4, 8]),
        SweptAxis(name="arguments", values=["small", "large"], contents=SIZES),
        SweptAxis(name="constexprs.EVEN", values=[True, False], is_computed=True),
    ]
    chosen = [[bm, warps, size, 0] for bm in (0, 1) for warps in (0, 1) for size in (0, 1)]
    said = {"kind": "launches", "base": BASE, "axes": axes, "chosen": chosen, **changes}
    return SweepPlan(**said)


def rows(times_us: list[float | None]) -> list[dict[str, Any]]:
    return [
        {
            "index": index,
            "median_us": us,
            "interval_us": None if us is None else [us - 0.25, us + 0.25],
        }
        for index, us in enumerate(times_us)
    ]


def winner(variant: int, **changes: Any) -> UsableWinner:
    said: dict[str, Any] = {
        "variant": variant,
        "problem_size": "large",
        "target": "cuda:90",
        "values": {},
        "median_us": 9.0,
        "interval_us": [8.75, 9.25],
        "verified": True,
        "lead": {"over": 1, "percent": 12.34, "interval_percent": [9.0, 15.0], "clear": True},
        **changes,
    }
    return usable_winner(said, "k" * 64, {"num_warps": 4, "num_stages": 2, "num_ctas": 1})
