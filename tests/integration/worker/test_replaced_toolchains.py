"""A worker takes jobs of toolchains that no worker serves any more, if they have its Triton."""

from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest

from store.jobs.producer import JobProducer
from store.jobs.types import (
    Priority,
    compile_lane,
    cpu_lane,
    derive_lane,
    inspect_lane,
    program_device_lane,
    programs_lane,
)
from store.workers import Toolchains, Worker, Workers
from worker.replaced_toolchains import ReplacedToolchains, doing_programs, of_kind

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
    return ReplacedToolchains(
        redis, partial(of_kind, "compile"), [OWN], lambda name: [compile_lane(name)]
    )


async def test_a_job_of_an_unserved_toolchain_is_taken_at_the_second_look(redis, replaced):
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
        redis, partial(of_kind, "compile"), [OWN], lambda name: [one(name) for one in lanes]
    )

    for _ in range(2):
        await replaced.look()

    assert replaced.lanes == [one(name) for name in ("new", "old") for one in lanes]
    assert replaced.context_of(lane("old")) is OWN


async def test_launches_wait_for_workers_that_launch(redis):
    await offered(redis, "new")
    await offered(redis, "old")
    await wanted(redis, "old", cpu_lane)
    await Workers(redis).beat(Worker("compiles", "compile", "old", None, "standard", 1, 0))
    replaced = ReplacedToolchains(
        redis, partial(of_kind, "launch"), [OWN], lambda name: [cpu_lane(name)]
    )

    for _ in range(2):
        await replaced.look()

    assert replaced.lanes == [cpu_lane("new"), cpu_lane("old")]


@pytest.mark.parametrize("device", [None, "cuda:90 H100"])
async def test_programs_wait_for_workers_that_do_programs_there(redis, device):
    """In a fleet, workers that compile may be upgraded later than those with torch or a GPU."""

    def lane(name):
        return programs_lane(name) if device is None else program_device_lane(name, *device.split())

    await offered(redis, "new")
    await offered(redis, "old")
    await wanted(redis, "old", lane)
    compiles = Worker("compiles", "compile", "old", None, "standard", 1, 0)
    elsewhere = Worker(
        "elsewhere", "launch", None, "cuda:80 A100", "launcher", 1, 0, programs=["old"]
    )
    for worker in (compiles, elsewhere):
        await Workers(redis).beat(worker)
    replaced = ReplacedToolchains(
        redis, partial(doing_programs, device), [OWN], lambda name: [lane(name)]
    )

    for _ in range(2):
        await replaced.look()
    assert replaced.lanes == [lane("new"), lane("old")]

    kind = "compile" if device is None else "launch"
    there = Worker("there", kind, None, device, "standard", 1, 0, programs=["old"])
    await Workers(redis).beat(there)
    await replaced.look()
    assert replaced.lanes == [lane("new")]
