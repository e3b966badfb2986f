"""Jobs on the real server, with short leases."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol

import pytest

from store import keys
from store.connection import StoreClient
from store.jobs.consumer import JobConsumer
from store.jobs.producer import JobProducer
from store.jobs.types import Priority, QueueLimits, Submitted
from store.jobs.waiting import ResultWaiter
from tests.waiting import comes_true

LANE = "compile:triton-3.9.0"
LIMITS = QueueLimits(queued=50, queued_per_caller=20, deliveries=3, lease_ms=5_000)


class Submit(Protocol):
    async def __call__(self, job_id: str, **changes: Any) -> Submitted: ...


@pytest.fixture
def jobs(redis: StoreClient) -> JobProducer:
    return JobProducer(redis, LIMITS)


@pytest.fixture
def submit(jobs: JobProducer) -> Submit:
    async def submit(job_id: str, **changes: Any) -> Submitted:
        usual = {
            "lane": LANE,
            "priority": Priority.INTERACTIVE,
            "payload": b'{"source": "..."}',
            "caller": "alice",
            "deadline_ms": 60_000,
        }
        return await jobs.submit(job_id, **(usual | changes))

    return submit


@pytest.fixture
def worker(redis: StoreClient, blocking: StoreClient) -> Callable[..., JobConsumer]:
    """Return a function that claims jobs for a consumer of any name, with any lease."""

    def worker(name: str = "worker-1", lease_ms: int = LIMITS.lease_ms) -> JobConsumer:
        return JobConsumer(redis, blocking, name, QueueLimits(lease_ms=lease_ms))

    return worker


@pytest.fixture
async def finished(redis: StoreClient, blocking: StoreClient) -> AsyncIterator[ResultWaiter]:
    finished = ResultWaiter(redis, blocking)
    task = asyncio.create_task(finished.run())
    yield finished
    task.cancel()
    await asyncio.wait([task])


async def now_ms(redis):
    seconds, microseconds = await redis.time()
    return 1000 * seconds + microseconds / 1000


@pytest.fixture
def over(redis):
    """Return a function that waits until a lease or deadline in the store has passed."""

    async def over(which, job_id):
        end_ms = await redis.zscore(which, job_id)

        async def has_passed():
            return await now_ms(redis) > end_ms + 1

        await comes_true(has_passed)

    return over


async def claimed_ids(attempts, lanes=(LANE,)):
    ids = []
    while claim := await attempts.claim(lanes):
        ids.append(claim.id)
    return ids


async def nobody_reaps(redis):
    return not await redis.exists(keys.REAPER)
