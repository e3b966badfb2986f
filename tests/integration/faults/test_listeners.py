"""Listeners resume when the server stops refusing, whatever it refused."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from store import keys, subscription
from store.connection import StoreClient, connect, probe
from store.embedded import EmbeddedValkey
from store.errors import StoreUnavailable
from store.events import EventFollowers, Events
from store.jobs.consumer import JobConsumer
from store.jobs.producer import JobProducer
from store.jobs.types import Priority
from store.jobs.waiting import ResultWaiter
from store.subscription import Invalidations, invalidate
from tests.integration.faults.refusing import REFUSALS, WRITES_REFUSED
from tests.waiting import comes_true
from worker.slots import Slots

LANE = "compile:triton-3.9.0"


@pytest.fixture(scope="module")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedValkey]:
    server = EmbeddedValkey(tmp_path_factory.mktemp("refusing"))
    asyncio.run(server.start())
    yield server
    asyncio.run(server.stop())


@pytest.fixture
async def operator(valkey: EmbeddedValkey) -> AsyncIterator[StoreClient]:
    """Return the connection that makes the server refuse; no other command uses it."""
    client = connect(valkey.url, max_connections=1)
    await client.flushall()
    yield client
    await client.aclose()


@pytest.fixture(autouse=True)
def quick_pings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscription, "SILENCE_S", 0.1)
    monkeypatch.setattr(subscription, "PONG_S", 0.5)


@pytest.mark.parametrize("refusal", REFUSALS)
async def test_listeners_and_waiters_survive_every_refusal(
    valkey, operator, blocking, redis, refusal
):
    finished, heard = ResultWaiter(redis, blocking), []
    following = EventFollowers(redis, blocking, Events(redis))
    invalidations = Invalidations(blocking, on_key=heard.append, on_loss=lambda: None)
    parts = [finished, following, invalidations]
    tasks = [asyncio.create_task(part.run()) for part in parts]
    await comes_true(lambda: all(part.connected for part in parts))

    async with REFUSALS[refusal](valkey, operator):
        waiting = asyncio.create_task(finished.wait("vector-add", 20))
        ended, _ = await asyncio.wait(tasks, timeout=0.5, return_when=asyncio.FIRST_COMPLETED)
        assert not ended

    await comes_true(lambda: all(part.connected for part in parts))

    async def is_heard():
        # repeatedly: a late pong may break a connection again
        await invalidate(operator, "some key")
        return set(heard) == {"some key"}

    await comes_true(is_heard)
    await asyncio.gather(waiting, return_exceptions=True)  # it was never submitted
    await submit_and_finish(redis, blocking, "matmul")
    assert (await finished.wait("matmul", 60)).record == b"ok"
    for task in tasks:
        task.cancel()


async def submit_and_finish(redis, blocking, job_id):
    await JobProducer(redis).submit(
        job_id, lane=LANE, priority=Priority.BATCH, payload=b"{}", caller="ada", deadline_ms=60_000
    )
    attempts = JobConsumer(redis, blocking, "worker")
    claim = await attempts.claim([LANE])
    await attempts.finish(job_id, claim.token, b"ok", reusable=True, keep_s=60)


@pytest.mark.parametrize("refusal", REFUSALS)
async def test_a_worker_that_is_refused_takes_jobs_afterwards(
    valkey, operator, blocking, redis, refusal
):
    async def do_job(claim, attempts):
        await attempts.finish(claim.id, claim.token, b"made", reusable=True, keep_s=60)

    slots = Slots(JobConsumer(redis, blocking, "worker"), [LANE], do_job, count=2, lease_s=1)
    working = asyncio.create_task(slots.run())

    async with REFUSALS[refusal](valkey, operator):
        await asyncio.wait([working], timeout=0.3)
    await JobProducer(operator).submit(
        "matmul", lane=LANE, priority=Priority.BATCH, payload=b"", caller="ada", deadline_ms=60_000
    )

    await comes_true(lambda: operator.exists(keys.RESULT + "matmul"))
    assert not working.done()
    working.cancel()
    await asyncio.wait([working])


@pytest.mark.parametrize("refusal", WRITES_REFUSED)
async def test_a_server_that_writes_nothing_is_not_ready(valkey, operator, redis, refusal):
    async with WRITES_REFUSED[refusal](valkey, operator):
        with pytest.raises(StoreUnavailable):
            await probe(redis, 3, writes=True)

    await probe(redis, 3, writes=True)


@pytest.mark.parametrize("refusal", ["busy", "full disk", "replica", "full memory"])
async def test_a_refusal_within_a_pipeline_is_one_named_error(valkey, operator, redis, refusal):
    await redis.set("key", "value")
    async with REFUSALS[refusal](valkey, operator):
        for transaction in (False, True):
            pipeline = redis.pipeline(transaction=transaction)
            pipeline.get("key")
            pipeline.set("key", "of pipeline caused error: WRONGTYPE")
            with pytest.raises(StoreUnavailable):
                await pipeline.execute()


async def test_a_message_that_cannot_be_read_is_skipped(redis, blocking, caplog):
    heard = []

    def on_key(key):
        if key == "odd":
            raise ValueError(key)
        heard.append(key)

    invalidations = Invalidations(blocking, on_key=on_key, on_loss=lambda: None)
    task = asyncio.create_task(invalidations.run())
    await comes_true(lambda: invalidations.connected)

    await redis.publish(keys.INVALIDATED, b"\xff\xfe")
    await redis.publish(keys.INVALIDATED, "odd")
    await invalidate(redis, "good")

    await comes_true(lambda: heard == ["good"])
    assert caplog.text.count("cannot read a message") == 2
    task.cancel()
