"""Interests: each waiting request has one, and the longest deadline counts."""

from store.jobs.types import Cancellation, Heartbeat, Waiting

LANE = "compile:triton-3.9.0"
WAITING = Waiting("one", 60_000)


async def test_what_a_request_waits_for_goes_on_when_its_caller_withdraws(jobs, submit, worker):
    await submit("kernel", waiting=WAITING)
    claim = await worker().claim([LANE])

    assert await jobs.cancel("kernel", "alice", b"cancelled") == Cancellation.WITHDRAWN

    assert await worker().renew("kernel", claim.token) == Heartbeat.OK
    ended = await jobs.withdraw("kernel", WAITING.interest, b"cancelled")
    assert ended == Cancellation.CANCELLED


async def test_a_request_that_waits_for_the_work_of_another_keeps_it(jobs, submit, worker):
    await submit("kernel")
    assert await jobs.begin_wait("kernel", WAITING)

    assert await jobs.cancel("kernel", "alice", b"cancelled") == Cancellation.WITHDRAWN

    assert (await worker().claim([LANE])).id == "kernel", "it still has a caller's turn to take"


async def test_nothing_is_left_of_interest_in_what_is_over(jobs, submit, worker, redis):
    await submit("kernel", waiting=WAITING)
    claim = await worker().claim([LANE])
    await worker().finish("kernel", claim.token, b"ok", reusable=True, keep_s=60)

    assert not await jobs.begin_wait("kernel", WAITING)
    await jobs.end_wait("kernel", WAITING, "alice", 0)

    assert await redis.keys("tritond:job-interests:*") == []


async def test_a_caller_whose_wait_expired_keeps_its_interest(jobs, submit):
    await submit("kernel", waiting=WAITING)
    await jobs.cancel("kernel", "alice", b"cancelled")

    await jobs.end_wait("kernel", WAITING, "alice", 0)

    assert await jobs.state("kernel") is not None
    assert await jobs.cancel("kernel", "alice", b"cancelled") == Cancellation.CANCELLED


async def test_a_request_that_its_service_forgot_is_no_reason_to_go_on(jobs, submit):
    await submit("kernel", waiting=Waiting("forgotten", -6_000))

    assert await jobs.cancel("kernel", "alice", b"cancelled") == Cancellation.CANCELLED


async def test_the_longest_timeout_counts(submit, worker):
    await submit("kernel", timeout_ms=20_000)
    await submit("kernel", timeout_ms=60_000, caller="bob")
    await submit("kernel", timeout_ms=1, caller="carol", refresh=True)

    assert (await worker().claim([LANE])).timeout_ms == 60_000


async def test_the_longest_timeout_counts_for_an_attempt_that_runs(submit, worker):
    await submit("kernel", timeout_ms=1)
    claim = await worker().claim([LANE])

    await submit("kernel", timeout_ms=60_000, caller="bob")

    assert claim.timeout_ms == 1
    assert await worker().timeout_ms("kernel") == 60_000


async def test_the_patience_of_who_left_counts_no_more(jobs, submit, worker):
    await submit("kernel", timeout_ms=1_000)
    await submit("kernel", timeout_ms=60_000, caller="bob")

    await jobs.cancel("kernel", "bob", b"cancelled")

    assert (await worker().claim([LANE])).timeout_ms == 1_000
