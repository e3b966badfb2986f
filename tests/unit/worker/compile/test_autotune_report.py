"""The worker bounds what a child that ran user code reports about an autotuner."""

from __future__ import annotations

from typing import Any

import pytest

from worker.compile.autotune_reading import as_reading, read_autotune_report
from worker.compile.reports import Malformed

CONFIG: dict[str, Any] = {"values": {"BLOCK": 64}, "options": {}, "unsaid": [], "sets_aside": []}
REPORT: dict[str, Any] = {
    "kernel": "scale",
    "line": 1,
    "parameters": ["x_ptr", "BLOCK"],
    "is_autotuned": True,
    "configs": [CONFIG],
    "config_count": 1,
    **{name: [] for name in ("key", "reset_to_zero", "restore_value", "hooks", "assumptions")},
    "heuristics": [],
    "source_hash": "0" * 64,
}


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"tuple": [value]}
    return value


def test_what_is_in_bounds_is_believed() -> None:
    reading = as_reading(read_autotune_report(REPORT), "cuda:90")

    assert reading.kernel == "scale"
    assert reading.configs[0].values == {"BLOCK": 64}


BROKEN: dict[str, dict[str, Any]] = {
    "a kernel that is a path": {"kernel": "../../.bashrc"},
    "half of a character in a value": {"configs": [CONFIG | {"values": {"MODE": "\ud800"}}]},
    "half of a character in a name": {"configs": [CONFIG | {"values": {"\ud800": 1}}]},
    "a value of megabytes": {"configs": [CONFIG | {"values": {"MODE": "x" * (1 << 20)}}]},
    "values within values": {"configs": [CONFIG | {"values": {"MODE": nested(1000)}}]},
    "an option that is no value": {"configs": [CONFIG | {"options": {"num_warps": {"a": 1}}}]},
}


@pytest.mark.parametrize("said", BROKEN.values(), ids=BROKEN)
def test_what_is_out_of_bounds_is_refused(said: dict[str, Any]) -> None:
    with pytest.raises(Malformed):
        as_reading(read_autotune_report(REPORT | said), "cuda:90")
