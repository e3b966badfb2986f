"""A sweep job from a hostile store cannot add variants of values that do not exist."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given

from store.stored import Unreadable
from sweeps.sweep_job import SweepJob
from sweeps.sweep_kind import SWEEP
from sweeps.sweep_plan import ABSENT, SweepPlan, SweptAxis
from tests.unit.jobs.changed_payloads import changed

AXES = [
    SweptAxis(name="arguments", values=["small", "large"], contents=[{"n": 1}, {"n": 2}]),
    SweptAxis(name="options.num_warps", values=[4, 8]),
]
PLAN = SweepPlan(kind="launches", base={}, axes=AXES, chosen=[[0, 1], [1, ABSENT]])
JOB = SweepJob(id="1", caller="ada", namespace="", plan=PLAN, toolchains={"": "t"})


def test_what_is_read_is_what_was_queued() -> None:
    assert SWEEP.read(SWEEP.written(JOB)) == JOB


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "another version": lambda written: written.update(version=2),
    "a value that is not there": lambda written: written["plan"].update(chosen=[[0, 2]]),
    "a value before the first": lambda written: written["plan"].update(chosen=[[-2, 0]]),
    "too few values": lambda written: written["plan"].update(chosen=[[0]]),
    "too many variants": lambda written: written["plan"].update(chosen=[[0, 0]] * 100_001),
    "a label that stands for nothing": lambda written: written["plan"]["axes"][0].update(
        contents=[{}]
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_store_cannot_queue_what_no_request_comes_to(
    change: Callable[[dict[str, Any]], object],
) -> None:
    written = json.loads(SWEEP.written(JOB))
    change(written)

    with pytest.raises(Unreadable):
        SWEEP.read(json.dumps(written).encode())


@given(changed(SWEEP.written(JOB)))
def test_whatever_is_changed_is_read_or_refused(payload: bytes) -> None:
    with suppress(Unreadable):
        assert SWEEP.read(payload).plan.kind == "launches"
