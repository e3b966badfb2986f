"""A race among more programs than can be examined in time."""

import math

import pytest

from compiler.diagnostic import Failure
from launch.cpu import grid_run
from launch.messages import CHECK_TIMEOUT
from tests.integration.launch.child_runs import Buffer
from tests.integration.launch.cpu.device_runs import DeviceLaunch

PROGRAMS = 200_000
NOW = -math.inf
KERNEL = """
import triton
import triton.language as tl

@triton.jit
def k(out):
    pid = tl.program_id(0)
    {}
"""
RACES = {
    "of all": ("tl.store(out, pid)", (0, 1)),
    "of two": ("tl.store(out + tl.where(pid == 150000, 777, pid), pid)", (777, 150_000)),
    "of the last with all": ("tl.store(out + pid, tl.load(out + 199999) + 1)", (0, 199_999)),
}


def launch(children, statement):
    out = Buffer((PROGRAMS,), "i32", {"kind": "zeros"}, output=True)
    return DeviceLaunch(children, KERNEL.format(statement), "k", {"out": out}, (PROGRAMS,))


@pytest.mark.parametrize("race", RACES)
def test_a_race_is_found_though_there_is_no_time_for_all(children, race):
    statement, (one, other) = RACES[race]
    found = launch(children, statement).run("racecheck", until=NOW).stopped
    assert (found.kind, found.line) == ("race", 8)
    assert f"program ({other}, 0, 0)" in found.message
    assert f"program ({one}, 0, 0)" in found.message
    assert "that were suspected, of 200,000" in found.message


def test_a_race_that_was_found_in_time_is_reported_with_what_was_examined(children, monkeypatch):
    times = iter([-1.0, -1.0, 1.0])
    monkeypatch.setattr(grid_run, "monotonic", lambda: next(times))
    ran = launch(children, "tl.store(out, pid)").run("racecheck", until=0.0)
    assert ran.stopped.kind == "race"
    assert "the first 3 of 200,000 programs" in ran.stopped.message


def test_where_none_was_found_the_check_is_named_and_not_the_kernel(children):
    same = launch(children, "tl.store(out + (pid + 1) // 2, 0)")  # the value that is there
    with pytest.raises(
        Failure, match="The check for races took too long, not the kernel"
    ) as reported:
        same.run("racecheck", until=NOW)
    assert reported.value.slug == CHECK_TIMEOUT
    assert "the first 1 and " in reported.value.message


def test_without_races_all_run_at_once_whatever_the_time(children):
    ran = launch(children, "tl.store(out + pid, pid)").run("racecheck", until=NOW)
    assert (ran.stopped, ran.access_checker.findings) == (None, [])
