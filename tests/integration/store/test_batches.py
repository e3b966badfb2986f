"""Batches on the real server: the scripts that end jobs settle their items."""

import asyncio

import pytest

from store.batches import Batches, EndedItems, PlannedItem
from store.events import Events
from store.jobs.types import Cancellation, Membership, interest_of_batch

LANE = "compile:triton-3.9.0"
OK = b'{"key":"k","url":"/u","state":"succeeded"}'
BROKEN = b'{"key":"k","url":"/u","state":"failed"}'


@pytest.fixture
def batches(redis):
    return Batches(redis)


@pytest.fixture
def start(batches, submit):
    """Return a function that creates alice's batch of the jobs with these names."""

    async def start(batch_id, *job_ids):
        plan = [PlannedItem(job_id) for job_id in job_ids]
        await batches.create(batch_id, "alice", "compilations", plan)
        for job_id in dict.fromkeys(job_ids):
            indices = " ".join(str(i) for i, named in enumerate(job_ids) if named == job_id)
            await submit(job_id, membership=Membership(batch_id, indices))

    return start


async def states(batches, batch_id):
    found = await batches.find(batch_id, "alice")
    return {index: item.state for index, item in found.ended.items()}


async def test_items_are_settled_as_their_jobs_end(batches, start, worker):
    await start("batch", "one", "two")
    first = await worker().claim([LANE])
    await worker().finish("one", first.token, OK, reusable=True, keep_s=60)
    assert await states(batches, "batch") == {0: "succeeded"}

    second = await worker().claim([LANE])
    await worker().finish("two", second.token, BROKEN, reusable=True, keep_s=60)

    assert await states(batches, "batch") == {0: "succeeded", 1: "failed"}


async def test_a_failure_is_kept_with_the_batch_and_a_success_is_not(batches, start, worker):
    await start("batch", "one", "two")
    for job_id, record in ("one", OK), ("two", BROKEN):
        claim = await worker().claim([LANE])
        await worker().finish(job_id, claim.token, record, reusable=True, keep_s=60)

    found = await batches.find("batch", "alice")

    assert [found.ended[index].record for index in (0, 1)] == [b"", BROKEN]


async def test_equal_items_are_settled_by_one_job(batches, redis, start, worker):
    await start("batch", "one", "one")
    claim = await worker().claim([LANE])
    await worker().finish("one", claim.token, OK, reusable=True, keep_s=60)

    assert await states(batches, "batch") == {0: "succeeded", 1: "succeeded"}
    reported = await Events(redis).read("batch")
    assert [event.kind for event in reported] == ["item", "item", "finished"]


async def test_waiters_for_a_batch_wake_with_its_last_item(start, worker, finished):
    await start("batch", "one", "two")
    waiting = asyncio.create_task(finished.wait("batch", 60))
    for job_id in "one", "two":
        assert not waiting.done()
        claim = await worker().claim([LANE])
        await worker().finish(job_id, claim.token, OK, reusable=True, keep_s=60)

    async with asyncio.timeout(5):
        assert await waiting is not None


async def test_a_job_may_belong_to_several_batches(batches, start, worker):
    await start("first", "one")
    await start("second", "one")
    claim = await worker().claim([LANE])
    await worker().finish("one", claim.token, OK, reusable=True, keep_s=60)

    assert await states(batches, "first") == await states(batches, "second") == {0: "succeeded"}


async def test_an_item_is_settled_once(batches, start, worker):
    await start("batch", "one")
    await batches.end_items("batch", [EndedItems([0], "refused", b"{}")])
    claim = await worker().claim([LANE])
    await worker().finish("one", claim.token, OK, reusable=True, keep_s=60)

    assert await states(batches, "batch") == {0: "refused"}


async def test_a_cancelled_job_settles_its_items(batches, jobs, start):
    await start("batch", "one")

    record = b'{"key":"k","state":"cancelled"}'
    assert await jobs.cancel("one", "alice", record) == Cancellation.WITHDRAWN, "not hers alone"
    assert await states(batches, "batch") == {}

    await jobs.withdraw("one", interest_of_batch("batch"), record)

    assert await states(batches, "batch") == {0: "cancelled"}


async def test_a_batch_that_leaves_a_job_to_others_is_settled(batches, jobs, start, worker):
    await start("first", "one")
    await start("second", "one")

    assert await batches.withdraw("first", "one", b'{"state":"cancelled"}')
    await jobs.withdraw("one", interest_of_batch("first"), b"cancelled")

    assert await states(batches, "first") == {0: "cancelled"}
    claim = await worker().claim([LANE])
    assert claim.id == "one"
    await worker().finish("one", claim.token, OK, reusable=True, keep_s=60)
    assert await states(batches, "second") == {0: "succeeded"}
    assert await states(batches, "first") == {0: "cancelled"}


async def test_a_job_ends_when_its_last_batch_leaves(batches, jobs, start):
    await start("batch", "one")

    assert await batches.withdraw("batch", "one", b'{"state":"cancelled"}')
    ended = await jobs.withdraw("one", interest_of_batch("batch"), b"cancelled")

    assert ended == Cancellation.CANCELLED
    assert not await batches.withdraw("batch", "one", b"again")


async def test_a_batch_is_found_by_its_caller_only(batches, start):
    await start("batch", "one")

    assert (await batches.find("batch", "alice")).items == [PlannedItem("one")]
    assert await batches.find("batch", "bob") is None
    assert await batches.find("another", "alice") is None


async def test_a_hit_is_no_member(batches, start, submit, worker):
    await submit("one")
    claim = await worker().claim([LANE])
    await worker().finish("one", claim.token, OK, reusable=True, keep_s=60)

    await start("batch", "one")

    assert await states(batches, "batch") == {}
    await batches.end_items("batch", [EndedItems([0], "succeeded")])
    assert await states(batches, "batch") == {0: "succeeded"}
