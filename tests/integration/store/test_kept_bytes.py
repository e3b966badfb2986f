"""The store bounds what it keeps for one caller, and keeps equal records once."""

import pytest

from store import keys
from store.batches import Batches, EndedItems, PlannedItem
from store.errors import CallerBytesFull
from store.events import Events
from store.jobs.producer import JobProducer
from store.jobs.types import Membership, Priority, QueueLimits

LANE = "compile:triton-3.9.0"
LONG = b'{"state":"failed","said":"' + b"x" * 100_000 + b'"}'
A_DAY_S = 24 * 3600


async def done(submit, worker, job_id, record=LONG, keep_s=A_DAY_S, **changes):
    await submit(job_id, **changes)
    claim = await worker().claim([LANE])
    await worker().finish(job_id, claim.token, record, reusable=False, keep_s=keep_s)


async def test_equal_items_of_a_batch_keep_one_record(redis, submit, worker):
    batches = Batches(redis)
    await batches.create("batch", "alice", "compilations", [PlannedItem("one")] * 40)
    indices = " ".join(map(str, range(40)))
    await done(submit, worker, "one", membership=Membership("batch", indices))

    found = await batches.find("batch", "alice")
    kept = await redis.hvals(keys.BATCH_ITEMS + "batch")

    assert [found.ended[index].record for index in range(40)] == [LONG] * 40
    assert {item.state for item in found.ended.values()} == {"failed"}
    assert sum(map(len, kept)) < len(LONG) + 40 * 20


async def test_a_record_is_kept_once_where_some_of_the_items_were_over_before(redis):
    batches = Batches(redis)
    await batches.create("batch", "alice", "compilations", [PlannedItem("one")] * 4)
    await batches.end_items("batch", [EndedItems((0, 2), "cancelled", b"{}")])
    await batches.end_items("batch", [EndedItems((0, 1, 2, 3), "failed", LONG)])

    found = await batches.find("batch", "alice")

    assert [found.ended[index].record for index in range(4)] == [b"{}", LONG, b"{}", LONG]


async def test_a_payload_goes_with_its_job_unless_it_is_asked_for_later(jobs, submit, worker):
    await done(submit, worker, "launch")
    await done(submit, worker, "compilation", keeps_payload=True)

    assert await jobs.kept_payload("launch") is None
    assert await jobs.kept_payload("compilation") == b'{"source": "..."}'


@pytest.fixture
def frugal(redis):
    jobs = JobProducer(redis, QueueLimits(kept_bytes_per_caller=250_000))

    async def submit(job_id, **changes):
        usual = {"lane": LANE, "priority": Priority.BATCH, "payload": b"{}", "caller": "alice"}
        return await jobs.submit(job_id, deadline_ms=60_000, **(usual | changes))

    return submit


async def test_a_caller_whose_results_fill_the_quota_waits_until_they_go(frugal, worker):
    await done(frugal, worker, "one")
    await done(frugal, worker, "two")

    with pytest.raises(CallerBytesFull, match="more than 250000 bytes"):
        await frugal("three")
    await frugal("three", caller="bob")


async def test_joins_hits_and_short_results_are_not_refused(frugal, worker):
    for number in range(5):
        await done(frugal, worker, f"short-{number}", keep_s=60)
    await done(frugal, worker, "one")
    await frugal("living")
    await done(frugal, worker, "two", caller="bob")
    await frugal("living")


async def test_what_a_batch_keeps_counts_for_its_caller(redis, frugal):
    batches = Batches(redis)
    await batches.create("batch", "alice", "compilations", [PlannedItem("one"), PlannedItem("two")])
    await batches.end_items(
        "batch", [EndedItems((0,), "failed", LONG), EndedItems((1,), "failed", LONG)]
    )

    with pytest.raises(CallerBytesFull):
        await frugal("three")


async def test_what_has_gone_by_does_not_count(redis, frugal):
    await redis.hset(keys.KEPT + "alice", "1", 10**12)

    assert await frugal("one")


async def test_a_job_reports_at_most_two_thousand_events(redis, submit, worker):
    await submit("one")
    claim = await worker().claim([LANE])
    events = Events(redis)

    reported = [await events.append_all("one", claim.token, "stage", [{}] * 500) for _ in range(6)]

    assert reported == [True] * 4 + [False] * 2
    assert await redis.xlen(keys.EVENTS + "one") < 400
