"""No record, event or row passes its limit, a caller's quota or the server's memory."""

import pytest

from store import byte_limits, keys
from store.batches import Batches, EndedItems, PlannedItem
from store.byte_limits import MAX_EVENT_BYTES, MAX_FAILURE_RECORD_BYTES, MAX_RECORD_BYTES
from store.errors import CallerBytesFull, NoRoomForRecord, RecordTooLarge, StoreFull
from store.events import Events
from store.jobs import consumer
from store.jobs.producer import JobProducer
from store.jobs.types import Priority, QueueLimits
from store.launches import Amendments, Launches
from tests.integration.store.conftest import LANE
from tests.waiting import comes_true

QUOTA = 400_000
LONG = b'{"state":"completed","said":"' + b"x" * 150_000 + b'"}'
FAILURE = b'{"state":"failed"}'
A_DAY_S = 24 * 3600


@pytest.fixture
def jobs(redis):
    return JobProducer(redis, QueueLimits(kept_bytes_per_caller=QUOTA))


async def kept_bytes(redis, caller="alice"):
    return sum(map(int, await redis.hvals(keys.KEPT + caller)))


async def claimed(submit, worker, job_id, **changes):
    await submit(job_id, **changes)
    return await worker().claim([LANE])


async def finish(worker, claim, record, keep_s=A_DAY_S):
    return await worker().finish(claim.id, claim.token, record, reusable=False, keep_s=keep_s)


async def test_a_record_that_is_too_large_is_refused_by_the_store_itself(
    redis, jobs, submit, worker, monkeypatch
):
    monkeypatch.setattr(consumer, "MAX_RECORD_BYTES", 2 * MAX_RECORD_BYTES)
    claim = await claimed(submit, worker, "one")

    with pytest.raises(RecordTooLarge):
        await finish(worker, claim, b" " * (MAX_RECORD_BYTES + 1), keep_s=60)

    assert await jobs.result("one") is None
    assert await finish(worker, claim, FAILURE)
    assert (await jobs.result("one")).record == FAILURE


async def test_a_record_that_is_too_large_is_not_sent_to_the_store(submit, worker):
    claim = await claimed(submit, worker, "one")

    with pytest.raises(RecordTooLarge, match="Ask for less"):
        await finish(worker, claim, b" " * (MAX_RECORD_BYTES + 1))


async def test_results_of_jobs_that_run_at_once_do_not_pass_the_quota(redis, submit, worker):
    claims = [await claimed(submit, worker, f"job-{n}") for n in range(4)]
    assert await finish(worker, claims[0], LONG)

    with pytest.raises(NoRoomForRecord, match="400000 bytes"):
        await finish(worker, claims[1], LONG)
    assert await finish(worker, claims[1], FAILURE)
    assert await finish(worker, claims[2], LONG), "bytes that were reserved are there again"

    assert await kept_bytes(redis) <= QUOTA


async def test_a_job_reserves_the_bytes_of_a_failure_until_it_is_over(redis, jobs, submit, worker):
    for n in range(QUOTA // MAX_FAILURE_RECORD_BYTES):
        await submit(f"job-{n}")
    with pytest.raises(CallerBytesFull):
        await submit("more")

    await jobs.cancel("job-0", "alice", FAILURE)
    await submit("after a cancellation")
    with pytest.raises(CallerBytesFull):
        await submit("more")
    await finish(worker, await worker().claim([LANE]), FAILURE)
    await submit("after an end")
    assert await kept_bytes(redis) <= QUOTA


async def test_a_kept_payload_is_reserved_with_its_job(redis, submit, worker):
    payload = b" " * 100_000
    claim = await claimed(submit, worker, "one", payload=payload, keeps_payload=True)
    assert await kept_bytes(redis) == len(payload) + MAX_FAILURE_RECORD_BYTES

    await finish(worker, claim, FAILURE)

    assert await kept_bytes(redis) == len(payload) + len(FAILURE)


async def test_a_caller_without_room_who_joins_gets_a_result_that_counts_for_others(
    redis, submit, worker
):
    await finish(worker, await claimed(submit, worker, "old", caller="bob"), LONG)
    await finish(worker, await claimed(submit, worker, "older", caller="bob"), LONG)
    claim = await claimed(submit, worker, "shared")
    await submit("shared", caller="bob")

    assert await finish(worker, claim, LONG)

    assert await kept_bytes(redis, "alice") == len(LONG)
    assert await kept_bytes(redis, "bob") == 2 * len(LONG)


async def test_a_large_record_does_not_pass_the_memory_of_the_server(redis, jobs, submit, worker):
    claim = await claimed(submit, worker, "one")

    async def is_refused():
        used_bytes = (await redis.info("memory"))["used_memory"]
        await redis.config_set("maxmemory", used_bytes + len(LONG) // 2)
        try:
            await finish(worker, claim, LONG, keep_s=60)
        except StoreFull:
            return True
        return False

    try:
        await comes_true(is_refused)
        assert await finish(worker, claim, FAILURE)
    finally:
        await redis.config_set("maxmemory", "0")
    assert (await jobs.result("one")).record == FAILURE


async def test_a_batch_keeps_no_record_beyond_the_quota(redis, submit, worker):
    await submit("sets the limit")
    batches = Batches(redis)
    await batches.create("batch", "alice", "launches", [PlannedItem(str(n)) for n in range(4)])
    await batches.end_items("batch", [EndedItems((n,), "failed", LONG) for n in range(4)])

    found = await batches.find("batch", "alice")

    assert [len(found.ended[n].record) for n in range(4)] == [len(LONG), len(LONG), 0, 0]
    assert await kept_bytes(redis) <= QUOTA


async def test_batches_count_for_what_is_kept_of_their_caller(redis, submit):
    await submit("sets the limit", caller="bob")
    batches = Batches(redis)
    items = [PlannedItem("x" * 64) for _ in range(500)]
    await batches.create("1", "alice", "launches", items)
    await batches.create("2", "alice", "launches", items)

    with pytest.raises(CallerBytesFull):
        await batches.create("3", "alice", "launches", items)

    assert await batches.find("3", "alice") is None
    assert 0 < await kept_bytes(redis) <= QUOTA


async def test_an_amended_record_stays_as_it_was_where_there_is_no_room(
    redis, jobs, submit, worker
):
    await Launches(redis).create("one", "alice")
    claim = await claimed(submit, worker, "one")
    await finish(worker, claim, LONG)
    amendments = Amendments(redis)

    await amendments.amend("one", claim.token, LONG + b" " * 1_000, "finding", {})
    assert len((await jobs.result("one")).record) == len(LONG) + 1_000
    await amendments.amend("one", claim.token, LONG + b" " * QUOTA, "finding", {})

    assert len((await jobs.result("one")).record) == len(LONG) + 1_000
    assert await kept_bytes(redis) == len(LONG) + 1_000


async def test_an_event_that_is_too_large_is_left_out(redis, submit, worker):
    claim = await claimed(submit, worker, "one")
    data = [{"n": 1}, {"n": "x" * MAX_EVENT_BYTES}, {"n": 3}]

    await Events(redis).append_all("one", claim.token, "case", data)

    found = [event.data for event in await Events(redis).read("one") if event.kind == "case"]
    assert found == [b'{"n":1}', b'{"n":3}']


async def test_quota_bytes_that_are_gone_leave_nothing_behind(redis, submit):
    await redis.hset(keys.KEPT + "alice", "1", 10**12)

    await submit("one", priority=Priority.BATCH)

    assert await redis.hget(keys.KEPT + "alice", "1") is None


def test_every_limit_is_a_number_of_bytes():
    limits = {name: value for name, value in vars(byte_limits).items() if name.isupper()}
    assert limits
    assert all(name.startswith("MAX_") and name.endswith("_BYTES") for name in limits)
