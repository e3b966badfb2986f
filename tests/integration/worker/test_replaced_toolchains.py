"""A worker takes the jobs of toolchains that nobody serves any more, if they have its Triton."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from store.jobs.producer import JobProducer
from store.jobs.types import Priority, compile_lane, derive_lane, inspect_lane, interpreter_lane
from store.workers import Toolchains, Worker, Workers
from worker.replaced_toolchains import ReplacedToolchains

DESCRIPTION = (
    b'{"id": "%s", "triton": "%s", "ptxas": "", "host_arch": "", "targets": [], "options": {},'
    b' "sandbox": "standard"}'
)
OWN = cast("Any", SimpleNamespace(toolchain=SimpleNamespace(id="new", triton="3.9.0")))


async def offered(redis, name, triton="3.9.0"):
    description = DESCRIPTION % (name.encode(), triton.encode())
    await Toolchains(redis).register(name, description)


async def wanted(redis, name, lane=compile_lane):
    await JobProducer(redis).submit(
        f"job of {name}", lane=lane(name), priority=Priority.BATCH, payload=b"{}",
        caller="alice", deadline_ms=60_000,
    )  # fmt: skip


@pytest.fixture
async def replaced(redis):
    await offered(redis, "new")
    return ReplacedToolchains(redis, "compile", [OWN], lambda name: [compile_lane(name)])


async def test_what_waits_for_one_that_nobody_serves_is_taken_at_the_second_look(redis, replaced):
    await offered(redis, "old")
    await wanted(redis, "old")

    await replaced.look()
    assert replaced.lanes == [compile_lane("new")]
    await replaced.look()
    assert replaced.lanes == [compile_lane("new"), compile_lane("old")]
    assert replaced.context_of(compile_lane("old")) is OWN


async def test_nothing_is_taken_of_another_triton_or_of_one_that_is_served(redis, replaced):
    await offered(redis, "older", "3.8.0")
    await wanted(redis, "older")
    await offered(redis, "other")
    await wanted(redis, "other")
    await Workers(redis).beat(Worker("its own", "compile", "other", None, "standard", 1, 0))

    for _ in range(3):
        await replaced.look()
    assert replaced.lanes == [compile_lane("new")]


async def test_one_that_is_served_again_is_let_go_and_what_is_under_way_is_ended(redis, replaced):
    await offered(redis, "old")
    await wanted(redis, "old")
    for _ in range(2):
        await replaced.look()

    await Workers(redis).beat(Worker("back", "compile", "old", None, "standard", 1, 0))
    await replaced.look()

    assert replaced.lanes == [compile_lane("new")]
    assert replaced.context_of(compile_lane("old")) is OWN


@pytest.mark.parametrize("lane", [inspect_lane, derive_lane])
async def test_all_that_compile_workers_do_is_taken_along(redis, lane):
    await offered(redis, "new")
    await offered(redis, "old")
    await wanted(redis, "old", lane)
    lanes = (compile_lane, inspect_lane, derive_lane)
    replaced = ReplacedToolchains(
        redis, "compile", [OWN], lambda name: [one(name) for one in lanes]
    )

    for _ in range(2):
        await replaced.look()

    assert replaced.lanes == [one(name) for name in ("new", "old") for one in lanes]
    assert replaced.context_of(lane("old")) is OWN


async def test_launches_wait_for_workers_that_launch(redis):
    await offered(redis, "new")
    await offered(redis, "old")
    await wanted(redis, "old", interpreter_lane)
    await Workers(redis).beat(Worker("compiles", "compile", "old", None, "standard", 1, 0))
    replaced = ReplacedToolchains(redis, "launch", [OWN], lambda name: [interpreter_lane(name)])

    for _ in range(2):
        await replaced.look()

    assert replaced.lanes == [interpreter_lane("new"), interpreter_lane("old")]
