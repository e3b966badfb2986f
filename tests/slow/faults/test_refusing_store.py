"""A deployment whose store refuses writes reports it, loses nothing, and recovers by itself."""

import asyncio
import time

import pytest

from store.jobs.producer import JobProducer
from store.jobs.types import Priority, compile_lane
from store.workers import Toolchains
from tests.integration.faults.refusing import REFUSALS
from tests.integration.service import bodies
from tests.waiting import comes_true

KEY = "5" * 64


async def until_ready(http, status):
    async def as_expected():
        answer = await http.get("/readyz")
        return answer if answer.status_code == status else None

    return await comes_true(as_expected)


@pytest.mark.parametrize("refusal", ["busy", "full disk", "password", "full memory"])
async def test_a_refusal_is_reported_and_outlived(
    machine, service, worker, operator, http, refusal
):
    await until_ready(http, 200)
    async with REFUSALS[refusal](machine.store, operator):
        unready = await until_ready(http, 503)
        refused = await http.post("/v1/compilations?wait=1", json=new_kernel(refusal))
        alive = await http.get("/healthz")

    ready = await until_ready(http, 200)
    made = await http.post("/v1/compilations?wait=60", json=new_kernel(refusal))
    assert unready.json()["slug"] == "store_unavailable"
    assert (refused.status_code, refused.json()["slug"]) == (503, "store_unavailable")
    assert int(refused.headers["retry-after"]) > 0
    assert alive.status_code == 200
    assert set(ready.json()["listeners"].values()) == {True}
    assert made.json()["state"] == "succeeded"
    assert worker.still_runs()


def new_kernel(name):
    return bodies.vector_add(f"{name} at {time.time_ns()}")


async def test_a_sweep_outlives_a_store_that_refuses_its_rows(machine, worker, operator, http):
    await until_ready(http, 200)
    base = new_kernel("swept")
    space = {"constexprs.BLOCK_SIZE": [2**n for n in range(5, 15)], "options.num_warps": [1, 2, 4]}
    posted = await http.post("/v1/sweeps", json={"base": base, "space": space})
    url = posted.json()["url"]
    async with REFUSALS["full memory"](machine.store, operator):
        refused = await http.post("/v1/sweeps", json={"base": base, "space": space})

    ended = await http.get(f"{url}?wait=60")
    assert (refused.status_code, refused.json()["slug"]) == (503, "store_unavailable")
    assert ended.json()["counts"] == {"succeeded": 30}
    assert worker.still_runs()


async def test_a_job_that_no_worker_can_read_ends(machine, worker, operator, http):
    """Another version wrote it; it gets three tries."""
    toolchain_id = await Toolchains(operator).default()
    await JobProducer(operator).submit(
        KEY, lane=compile_lane(toolchain_id), priority=Priority.INTERACTIVE, payload=b'{"v": 99}',
        caller="anonymous", deadline_ms=60_000,
    )  # fmt: skip

    result = await comes_true(lambda: JobProducer(operator).result(KEY))

    assert b'"worker_lost"' in result.record
    assert b"another version" in result.record
    assert (await http.get(f"/v1/compilations/{KEY}")).status_code == 404
    assert worker.still_runs()


async def test_a_job_that_the_store_lost_is_submitted_again_for_its_waiter(
    machine, worker, operator, http
):
    body = bodies.slow(2, "lost by the store")
    waiting = asyncio.create_task(http.post("/v1/compilations?wait=60", json=body))
    lost = await comes_true(lambda: operator.keys("tritond:job:*"))

    # like a failover to a replica that lags behind
    key = lost[0].decode().removeprefix("tritond:job:")
    for name in (f"job:{key}", f"job-callers:{key}", f"events:{key}"):
        await operator.delete(f"tritond:{name}")
    await operator.zrem("tritond:leases", key)

    answer = await waiting
    assert (answer.status_code, answer.json()["state"]) == (200, "succeeded")


async def test_readyz_counts_workers_and_needs_none(machine, worker, http):
    # one compiles, and one launches on the CPU device
    assert (await until_ready(http, 200)).json()["workers"] >= 1

    machine.stop_workers()

    assert (await until_ready(http, 200)).json()["workers"] == 0


async def test_without_any_worker_the_service_ends_what_is_overdue(machine, operator, http):
    machine.stop_workers()
    toolchain_id = await Toolchains(operator).default()
    await JobProducer(operator).submit(
        "a" * 64, lane=compile_lane(toolchain_id), priority=Priority.BATCH, payload=b"{}",
        caller="anonymous", deadline_ms=1,
    )  # fmt: skip

    assert await comes_true(lambda: JobProducer(operator).result("a" * 64))


async def test_a_worker_waits_for_a_store_that_refuses_when_it_starts(machine, operator, http):
    machine.stop_workers()
    async with REFUSALS["full disk"](machine.store, operator):
        worker = machine.start_worker()
        await comes_true(lambda: "the store is unavailable; retrying" in machine.said())
        assert worker.still_runs()

    made = await http.post("/v1/compilations?wait=60", json=new_kernel("late"))
    assert made.json()["state"] == "succeeded"
