"""A worker's slots with the real store: running jobs, and jobs that yield theirs."""

import asyncio
import contextlib

from store.jobs.consumer import JobConsumer
from store.jobs.producer import JobProducer
from store.jobs.types import Priority, QueueLimits
from tests.waiting import comes_true
from worker.pool.zygote_client import ZygoteError
from worker.slots import Slots

LANE = "launch:test"


class Jobs:
    """Jobs that run until the test ends them; some yield their slots and wait for others first."""

    def __init__(self, redis, blocking, count, **how):
        self.redis = redis
        attempts = JobConsumer(redis, blocking, "worker", QueueLimits(lease_ms=5000))
        self.slots = Slots(attempts, [LANE], self.do, count, 5, **how)
        self.waiting, self.running, self.done = set(), set(), []
        self.lost = []
        self.compiled, self.end = asyncio.Event(), asyncio.Event()

    async def do(self, claim, attempts):
        if self.lost:
            raise self.lost.pop()
        if claim.id.startswith("new"):
            self.waiting.add(claim.id)
            with self.slots.yield_slot():
                await self.compiled.wait()
            self.waiting.remove(claim.id)
        self.running.add(claim.id)
        await self.end.wait()
        self.running.remove(claim.id)
        self.done.append(claim.id)
        await attempts.finish(claim.id, claim.token, b"{}", reusable=True, keep_s=60)

    async def submit(self, *names):
        for name in names:
            await JobProducer(self.redis).submit(
                name, lane=LANE, priority=Priority.INTERACTIVE, payload=b"", caller="ada",
                deadline_ms=60_000,
            )  # fmt: skip


@contextlib.asynccontextmanager
async def working(*args, **how):
    jobs = Jobs(*args, **how)
    running = asyncio.create_task(jobs.slots.run())
    try:
        yield jobs
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_jobs_that_wait_for_others_keep_no_slot(redis, blocking):
    async with working(redis, blocking, 2, most_yielded=8) as jobs:
        await jobs.submit("new-1", "new-2", "new-3", "cached-1", "cached-2", "cached-3")

        await comes_true(lambda: jobs.running == {"cached-1", "cached-2"})
        assert jobs.waiting == {"new-1", "new-2", "new-3"}


async def test_a_returning_job_runs_at_once_and_none_is_claimed_until_there_is_room(
    redis, blocking
):
    async with working(redis, blocking, 2, most_yielded=8) as jobs:
        await jobs.submit("new-1", "new-2", "cached-1", "cached-2", "cached-3")
        await comes_true(lambda: len(jobs.running) == len(jobs.waiting) == 2)
        jobs.compiled.set()
        await comes_true(lambda: len(jobs.running) == 4)
        assert "cached-3" not in jobs.running

        jobs.end.set()
        await comes_true(lambda: len(jobs.done) == 5)


async def test_a_job_that_had_no_zygote_is_one_line_of_warning(redis, blocking, caplog):
    async with working(redis, blocking, 1) as jobs:
        jobs.lost = [ZygoteError("the zygote was not warm after 300 s")]
        await jobs.submit("cached-1")

        await comes_true(lambda: caplog.records)

    [record] = caplog.records
    assert (record.levelname, record.exc_info) == ("WARNING", None)
    assert record.getMessage().endswith(": the zygote was not warm after 300 s")


async def test_only_so_many_yield_their_slots(redis, blocking):
    async with working(redis, blocking, 1, most_yielded=2) as jobs:
        await jobs.submit("new-1", "new-2", "new-3", "cached-1")
        await comes_true(lambda: len(jobs.waiting) == 3)  # the third one in the slot
        assert jobs.running == set()

        jobs.compiled.set()
        jobs.end.set()
        await comes_true(lambda: len(jobs.done) == 4)


async def test_a_drain_waits_for_those_without_a_slot_too(redis, blocking):
    async with working(redis, blocking, 1, most_yielded=2) as jobs:
        await jobs.submit("new-1")
        await comes_true(lambda: jobs.waiting)
        draining = asyncio.create_task(jobs.slots.drain())
        jobs.end.set()
        await asyncio.sleep(0)
        assert not draining.done()

        jobs.compiled.set()
        await draining
        assert jobs.done == ["new-1"]


async def test_one_without_a_slot_that_is_cancelled_gives_its_job_back(redis, blocking):
    jobs = JobProducer(redis)
    async with working(redis, blocking, 1, most_yielded=2) as before:
        await before.submit("new-1")
        await comes_true(lambda: before.waiting)

    async with working(redis, blocking, 1, most_yielded=2) as after:
        after.compiled.set()
        after.end.set()
        await comes_true(lambda: after.done == ["new-1"])
    assert (await jobs.result("new-1")).record == b"{}"
