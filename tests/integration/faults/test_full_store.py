"""A full store refuses whatever needs memory at once, and still lets jobs end."""

import os

import pytest

from store import keys, scripts
from store.api_keys import ApiKeys
from store.blobs import Blobs
from store.budget import Budget
from store.compilations import Compilations
from store.errors import QueueBytesFull, StoreUnavailable
from store.jobs.consumer import JobConsumer
from store.jobs.producer import JobProducer
from store.jobs.types import Cancellation, Priority, QueueLimits, SubmitOutcome
from store.workers import Toolchains, Worker, Workers
from tests.waiting import comes_true

LANE = "compile:triton-3.9.0"
MIB = 1 << 20
WORKER = Worker(
    id="w", kind="compile", toolchain="t", device="cuda:90 H", sandbox="strict", slots=1, busy=0,
    references=["numpy"], tools=["memcheck"],
)  # fmt: skip


@pytest.fixture
async def small(redis):
    """Leave the server 8 MiB more than it uses."""
    used = (await redis.info("memory"))["used_memory"]
    await redis.config_set("maxmemory", used + 8 * MIB)
    yield redis
    await redis.config_set("maxmemory", "0")


@pytest.fixture
def jobs(redis):
    return JobProducer(redis)


@pytest.fixture
def attempts(redis, blocking):
    return JobConsumer(redis, blocking, "worker")


async def submit(jobs, job_id, payload=b"{}"):
    return await jobs.submit(
        job_id, lane=LANE, priority=Priority.BATCH, payload=payload, caller="ada",
        deadline_ms=60_000,
    )  # fmt: skip


async def fill(redis):
    """Leave no memory: even the smallest write is refused."""
    await redis.config_set("maxmemory", "1mb")
    with pytest.raises(StoreUnavailable):
        await redis.set("a", "b")


async def use_up(redis, blobs):
    """Lower the server's limit to what it uses, until it refuses a blob.

    Its use falls on its own, too: it frees the buffers of idle clients.
    """

    async def is_refused():
        used_bytes = (await redis.info("memory"))["used_memory"]
        await redis.config_set("maxmemory", used_bytes - MIB // 2)
        try:
            await blobs.put(os.urandom(8))
        except StoreUnavailable:
            return True
        return False

    await comes_true(is_refused)


async def test_a_queue_does_not_grow_beyond_the_servers_memory(small, jobs):
    """A submit deletes the previous result, which must not make it look like a small change."""
    for taken in range(100):
        await small.hset(keys.RESULT + f"job-{taken}", "record", "{}")
        try:
            await submit(jobs, f"job-{taken}", os.urandom(MIB))
        except StoreUnavailable:
            break

    assert 1 <= taken <= 9
    assert not await small.exists(keys.JOB + f"job-{taken}"), "nothing of it is left"
    assert await small.exists(keys.RESULT + f"job-{taken}")


async def test_jobs_run_and_end_on_a_full_server(small, jobs, attempts):
    for name in ("finished", "released", "cancelled", "overdue"):
        await submit(jobs, name)
    await fill(small)

    finished, released = await attempts.claim([LANE]), await attempts.claim([LANE])
    assert await attempts.renew(finished.id, finished.token) == "ok"
    assert await attempts.finish(finished.id, finished.token, b"{}", reusable=True, keep_s=60)
    assert await attempts.release(released.id, released.token)
    assert await jobs.cancel("cancelled", "ada", b"{}") == Cancellation.CANCELLED
    await small.execute_command("ZREM", keys.DEADLINES, "overdue")
    assert await attempts.reap() == []
    assert (await jobs.state("released")).state == "queued"
    assert (await jobs.result("finished")).record == b"{}"


async def test_workers_and_keys_are_known_on_a_full_server(small, jobs):
    await fill(small)

    await Workers(small).beat(WORKER)
    await Toolchains(small).register("t", b'{"triton": "3.9.0"}')
    await Toolchains(small).note_tried("all", ["cuda:90"])
    _, secret = await ApiKeys(small).create("ops", ("admin",))

    assert [worker.id for worker in await Workers(small).list()] == ["w"]
    assert await Workers(small).known_devices() == ["cuda:90 H"]
    assert await Toolchains(small).default() == "t"
    assert await Toolchains(small).tried("all") == ["cuda:90"]
    assert (await ApiKeys(small).find(secret)).name == "ops"


async def test_hits_are_answered_on_a_full_server(small):
    digest = await Blobs(small).put(b"ptx")
    compilations = Compilations(Blobs(small))
    await compilations.write("k", b"{}", b"{}", {"ptx": digest})
    await fill(small)

    assert (await compilations.hit("k", ["ptx"])).included == {"ptx": b"ptx"}


async def test_the_cache_gives_way_when_the_servers_memory_is_used_up(small):
    """Although the cache is far within its budget, and uses cannot be recorded."""
    budget = Budget(small, 1 << 30)
    blobs = Blobs(small, budget)
    for _ in range(24):
        await blobs.put(os.urandom(MIB // 4))
    await use_up(small, blobs)
    budget.note_use("some record")

    swept = await budget.sweep()

    assert swept.evicted > 0

    async def is_freed():  # large values are freed in the background
        info = await small.info("memory")
        return info["used_memory"] <= 0.9 * info["maxmemory"]

    await comes_true(is_freed)
    await blobs.put(os.urandom(MIB // 4))


async def test_all_jobs_together_have_a_bound_in_bytes(redis, attempts):
    jobs = JobProducer(redis, QueueLimits(living_bytes=1000))
    await submit(jobs, "first", b" " * 600)
    with pytest.raises(QueueBytesFull, match="1000 bytes"):
        await submit(jobs, "second", b" " * 600)
    assert (await submit(jobs, "first", b" " * 600)).outcome == SubmitOutcome.JOIN

    claim = await attempts.claim([LANE])
    with pytest.raises(QueueBytesFull):
        await submit(jobs, "second", b" " * 600)
    await attempts.finish(claim.id, claim.token, b"{}", reusable=False, keep_s=60)

    assert (await submit(jobs, "second", b" " * 600)).outcome == SubmitOutcome.MISS


@pytest.mark.parametrize("name", scripts.NAMES)
def test_every_script_declares_its_behaviour_on_a_full_server(name):
    assert scripts.text(name).startswith("#!lua")
