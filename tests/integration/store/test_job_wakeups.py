"""Waiting for work: each job wakes one worker, and no wake-up is lost."""

import asyncio
import time

from store.jobs.types import Priority
from tests.integration.store.conftest import LANE
from tests.waiting import comes_true

SOON_S = 30
"""Seconds, less than any worker waits."""


async def test_waiting_ends_as_soon_as_there_is_work(redis, submit, worker):
    attempts = worker()
    assert await attempts.claim([LANE]) is None
    waiting = asyncio.create_task(attempts.wait_for_work(60))
    await comes_true(lambda: idle_workers(redis, 1))

    await submit("vector-add", priority=Priority.BATCH)

    await asyncio.wait_for(waiting, SOON_S)
    assert (await attempts.claim([LANE])).id == "vector-add"


async def test_work_that_came_between_claim_and_wait_is_not_slept_through(submit, worker):
    attempts = worker()
    assert await attempts.claim([LANE]) is None
    await submit("vector-add")

    await asyncio.wait_for(attempts.wait_for_work(60), SOON_S)


async def test_waiting_ends_in_time_when_there_is_no_work(worker):
    attempts = worker()
    await attempts.claim([LANE])
    started = time.monotonic()

    await attempts.wait_for_work(0.2)

    assert time.monotonic() - started > 0.15


async def idle_workers(redis, count):
    """Return whether this many connections wait for a token."""
    return (await redis.info("clients"))["blocked_clients"] == count


async def wait_idly(attempts):
    """Wait like an idle worker, and claim once woken."""
    assert await attempts.claim([LANE]) is None
    await attempts.wait_for_work(60)
    return await attempts.claim([LANE])


async def test_a_new_job_wakes_one_worker(redis, submit, worker):
    idle = [asyncio.create_task(wait_idly(worker(f"idle-{n}"))) for n in range(8)]
    await comes_true(lambda: idle_workers(redis, 8))

    await submit("vector-add")

    done, waiting = await asyncio.wait(idle, return_when=asyncio.FIRST_COMPLETED)
    assert [task.result().id for task in done] == ["vector-add"]
    assert await idle_workers(redis, 7)
    assert not any(task.done() for task in waiting)
    for task in waiting:
        task.cancel()


async def test_each_of_many_new_jobs_wakes_a_worker(redis, submit, worker):
    idle = [asyncio.create_task(wait_idly(worker(f"idle-{n}"))) for n in range(8)]
    await comes_true(lambda: idle_workers(redis, 8))

    await asyncio.gather(*(submit(f"job-{n}") for n in range(8)))

    claims = await asyncio.wait_for(asyncio.gather(*idle), SOON_S)
    assert sorted(claim.id for claim in claims) == [f"job-{n}" for n in range(8)]


async def test_a_claim_that_leaves_jobs_behind_wakes_the_next_worker(redis, submit, worker):
    """Two jobs of one caller: the second gets its turn when the first is claimed."""
    idle = [asyncio.create_task(wait_idly(worker(f"idle-{n}"))) for n in range(2)]
    await comes_true(lambda: idle_workers(redis, 2))

    await submit("first")
    await submit("second")

    claims = await asyncio.wait_for(asyncio.gather(*idle), SOON_S)
    assert {claim.id for claim in claims} == {"first", "second"}


async def test_no_wake_up_is_left_when_all_jobs_are_claimed(redis, submit, worker):
    await submit("vector-add")
    await worker().claim([LANE])

    assert await redis.keys("tritond:wake:*") == []
