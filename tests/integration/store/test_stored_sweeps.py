"""Stored sweeps: only the valid attempt may write rows."""

import pytest

from store import keys
from store.errors import CallerBytesFull
from store.events import Events
from store.jobs.producer import JobProducer
from store.jobs.types import Priority, QueueLimits
from sweeps.stored_sweeps import Sweeps, WrittenRow

SWEEP = "5" * 32


@pytest.fixture
def sweeps(redis):
    return Sweeps(redis)


@pytest.fixture
def events(redis):
    return Events(redis)


async def begun(sweeps, jobs, worker, sweep=SWEEP):
    """Return alice's sweep and the attempt that drives it."""
    assert await sweeps.begin(sweep, "alice", most_living=2)
    await jobs.submit(
        sweep, lane="sweeps", priority=Priority.INTERACTIVE, payload=b"{}",
        caller="alice", deadline_ms=60_000,
    )  # fmt: skip
    return await worker().claim(["sweeps"])


async def test_rows_do_not_pass_the_quota_of_their_caller(redis, sweeps, worker):
    jobs = JobProducer(redis, QueueLimits(kept_bytes_per_caller=200_000))
    claim = await begun(sweeps, jobs, worker)
    long = b'{"index":0,"state":"failed","said":"' + b"x" * 50_000 + b'"}'
    assert await sweeps.write_rows(SWEEP, claim.token, [WrittenRow(0, "failed", long)])

    with pytest.raises(CallerBytesFull):
        await sweeps.write_rows(SWEEP, claim.token, [WrittenRow(1, "failed", long)])

    assert (await sweeps.rows(SWEEP)).written.keys() == {0}


async def test_rows_are_kept_and_reported(sweeps, jobs, worker, events):
    claim = await begun(sweeps, jobs, worker)
    await sweeps.note_jobs(SWEEP, claim.token, {0: "a", 1: "b"})

    assert await sweeps.write_rows(SWEEP, claim.token, [WrittenRow(0, "failed", b'{"index":0}')])

    stored = await sweeps.rows(SWEEP)
    assert (stored.written, stored.waiting) == ({0: b'{"index":0}'}, {1: "b"})
    assert await sweeps.written(SWEEP) == {0}
    reported = [event for event in await events.read(SWEEP) if event.kind == "row"]
    assert [event.data for event in reported] == [b'{"index":0}']


async def test_rows_are_counted_by_state_also_when_one_is_written_again(sweeps, jobs, worker):
    claim = await begun(sweeps, jobs, worker)
    first = [WrittenRow(0, "failed", b'{"state":"failed"}'), WrittenRow(1, "failed", b"{}")]
    await sweeps.write_rows(SWEEP, claim.token, first)

    await sweeps.write_rows(SWEEP, claim.token, [WrittenRow(0, "succeeded", b"{}")])

    assert await sweeps.rows_over([SWEEP, "6" * 32]) == [
        {"over": 2, "failed": 1, "succeeded": 1},
        {"over": 0},
    ]


async def test_an_attempt_that_does_not_count_writes_nothing(sweeps, jobs, worker):
    late = await begun(sweeps, jobs, worker)
    await worker().release(SWEEP, late.token)
    now = await worker().claim(["sweeps"])

    assert not await sweeps.write_rows(SWEEP, late.token, [WrittenRow(0, "failed", b"late")])
    assert not await sweeps.note_jobs(SWEEP, late.token, {0: "late"})
    assert await sweeps.write_rows(SWEEP, now.token, [WrittenRow(0, "failed", b"now")])
    assert (await sweeps.rows(SWEEP)).written == {0: b"now"}


async def test_a_caller_has_only_so_many_that_are_not_over(sweeps, jobs, worker):
    claim = await begun(sweeps, jobs, worker)
    await begun(sweeps, jobs, worker, sweep="6" * 32)

    assert not await sweeps.begin("7" * 32, "alice", most_living=2)
    assert await sweeps.begin("8" * 32, "bob", most_living=2)
    await worker().finish(SWEEP, claim.token, b"{}", reusable=False, keep_s=60)
    assert await sweeps.begin("7" * 32, "alice", most_living=2)


async def test_a_sweep_whose_job_the_store_lost_is_not_counted_for_ever(
    sweeps, jobs, worker, redis, monkeypatch
):
    monkeypatch.setattr("sweeps.stored_sweeps.GONE_AFTER_MS", 0)
    await begun(sweeps, jobs, worker)
    await redis.delete(keys.JOB + SWEEP)

    assert await sweeps.begin("6" * 32, "alice", most_living=1)


async def test_a_sweep_is_its_callers(sweeps, jobs, worker):
    await begun(sweeps, jobs, worker)

    assert await sweeps.is_of(SWEEP, "alice")
    assert not await sweeps.is_of(SWEEP, "bob")
    assert not await sweeps.is_of("6" * 32, "alice")


async def test_all_rows_of_a_large_sweep_are_events_still_when_it_is_over(
    sweeps, jobs, worker, events
):
    claim = await begun(sweeps, jobs, worker)
    rows = [WrittenRow(index, "failed", b'{"index":%d}' % index) for index in range(3000)]

    await sweeps.write_rows(SWEEP, claim.token, rows)
    await worker().finish(SWEEP, claim.token, b"{}", reusable=False, keep_s=60)

    kinds = [event.kind for event in await events.read(SWEEP)]
    assert kinds.count("row") == 3000
    assert kinds[-1] == "finished"
