"""Cancelling: a job lives as long as it has an interest, and all waiters learn of its end."""

import asyncio

from store import keys
from store.jobs.consumer import Revocations
from store.jobs.types import Cancellation, Heartbeat, Revocation, SubmitOutcome
from tests.waiting import comes_true

LANE = "compile:triton-3.9.0"


async def test_a_job_lives_as_long_as_one_caller_is_interested(jobs, submit, worker):
    await submit("vector-add", caller="alice")
    await submit("vector-add", caller="bob")

    assert await jobs.cancel("vector-add", "alice", b"cancelled") == Cancellation.WITHDRAWN
    assert (await worker().claim([LANE])).id == "vector-add"
    assert await jobs.cancel("vector-add", "bob", b"cancelled") == Cancellation.CANCELLED


async def test_a_cancelled_queued_job_is_never_claimed(jobs, submit, worker):
    await submit("unwanted")
    await submit("wanted")

    assert await jobs.cancel("unwanted", "alice", b"cancelled") == Cancellation.CANCELLED

    assert (await jobs.result("unwanted")).record == b"cancelled"
    assert (await worker().claim([LANE])).id == "wanted"
    assert await worker().claim([LANE]) is None


async def test_a_cancelled_job_of_the_backlog_is_never_claimed(jobs, submit, worker):
    for n in range(3):
        await submit(f"job-{n}")

    await jobs.cancel("job-1", "alice", b"cancelled")

    assert (await jobs.state("job-2")).position == 2
    assert [(await worker().claim([LANE])).id for _ in range(2)] == ["job-0", "job-2"]


async def test_a_running_attempt_learns_that_it_is_cancelled(jobs, submit, worker):
    await submit("vector-add")
    claim = await worker().claim([LANE])

    assert await jobs.cancel("vector-add", "alice", b"cancelled") == Cancellation.CANCELLED

    assert await worker().renew("vector-add", claim.token) == Heartbeat.CANCELLED
    assert not await worker().finish(
        "vector-add", claim.token, b"too late", reusable=True, keep_s=60
    )
    assert (await jobs.result("vector-add")).record == b"cancelled"


async def test_a_cancel_reaches_the_worker_at_once(redis, jobs, submit, worker, blocking):
    reported: asyncio.Queue[Revocation] = asyncio.Queue()
    listening = asyncio.create_task(Revocations(blocking, reported.put_nowait).run())
    await submit("vector-add")
    claim = await worker().claim([LANE])

    async def is_listened_to():
        return (await redis.pubsub_numsub(keys.REVOKED))[0][1]

    await comes_true(is_listened_to)

    await jobs.cancel("vector-add", "alice", b"cancelled")

    revocation = await asyncio.wait_for(reported.get(), 60)
    assert revocation == Revocation("vector-add", claim.token, Heartbeat.CANCELLED)
    listening.cancel()


async def test_a_cancelled_job_can_be_submitted_again(jobs, submit, worker):
    await submit("vector-add")
    cancelled = await worker().claim([LANE])
    await jobs.cancel("vector-add", "alice", b"cancelled")

    assert (await submit("vector-add")).outcome == SubmitOutcome.MISS

    again = await worker().claim([LANE])
    assert again.id == "vector-add"
    assert not await worker().finish(
        "vector-add", cancelled.token, b"old", reusable=True, keep_s=60
    )


async def test_a_finished_job_cannot_be_cancelled(jobs, submit, worker):
    await submit("vector-add")
    claim = await worker().claim([LANE])
    await worker().finish("vector-add", claim.token, b"ok", reusable=True, keep_s=60)

    assert await jobs.cancel("vector-add", "alice", b"cancelled") == Cancellation.FINISHED
    assert (await jobs.result("vector-add")).record == b"ok"


async def test_an_unknown_job_cannot_be_cancelled(jobs):
    assert await jobs.cancel("never seen", "alice", b"cancelled") == Cancellation.NOT_FOUND


async def test_a_stranger_cannot_cancel_a_job(jobs, submit, worker):
    await submit("vector-add", caller="alice")

    assert await jobs.cancel("vector-add", "mallory", b"cancelled") == Cancellation.WITHDRAWN
    assert (await worker().claim([LANE])).id == "vector-add"


async def test_the_turn_of_a_caller_who_withdrew_goes_on(jobs, submit, worker):
    await submit("shared", caller="alice")
    await submit("alice-1", caller="alice")
    await submit("shared", caller="bob")

    await jobs.cancel("shared", "alice", b"cancelled")

    assert {(await worker().claim([LANE])).id for _ in range(2)} == {"shared", "alice-1"}


async def test_a_job_that_two_callers_gave_up_in_their_backlogs_is_gone(
    redis, jobs, submit, worker
):
    await submit("alice-0", caller="alice")
    await submit("bob-0", caller="bob")
    await submit("shared", caller="alice")
    await submit("shared", caller="bob")

    assert await jobs.cancel("shared", "alice", b"cancelled") == Cancellation.WITHDRAWN
    assert await jobs.cancel("shared", "bob", b"cancelled") == Cancellation.CANCELLED

    assert [(await worker().claim([LANE])).id for _ in range(2)] == ["alice-0", "bob-0"]
    assert await worker().claim([LANE]) is None
    assert not await redis.exists("tritond:job:shared")
