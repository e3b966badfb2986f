"""Claiming: one worker per job, fair turns, no lost wake-up, leases and fencing."""

import asyncio

from store import keys
from store.jobs.types import Heartbeat, Priority, State, SubmitOutcome
from tests.integration.store.conftest import LANE, claimed_ids, now_ms
from tests.waiting import comes_true


async def test_a_job_is_claimed_once(submit, worker):
    await submit("vector-add")

    claims = await asyncio.gather(*(worker(f"worker-{n}").claim([LANE]) for n in range(20)))

    assert [claim.id for claim in claims if claim] == ["vector-add"]


async def test_a_claim_says_what_was_submitted(jobs, submit, worker):
    await submit("vector-add", priority=Priority.BATCH, payload=b"\x00\xff")

    claim = await worker().claim([LANE])

    assert (claim.id, claim.lane, claim.priority) == ("vector-add", LANE, Priority.BATCH)
    assert (claim.payload, claim.attempt, claim.deliveries) == (b"\x00\xff", 1, 1)
    assert (claim.refresh, claim.dead_letter) == (False, None)
    status = await jobs.state("vector-add")
    assert (status.state, status.position) == (State.RUNNING, None)
    assert status.started_at_ms == claim.started_at_ms


async def test_two_callers_take_turns(jobs, submit, worker):
    for n in range(4):
        await submit(f"alice-{n}", caller="alice")
    await submit("bob-0", caller="bob")
    await submit("bob-1", caller="bob")

    assert (await jobs.state("bob-0")).position == 2
    assert await claimed_ids(worker()) == [
        "alice-0", "bob-0", "alice-1", "bob-1", "alice-2", "alice-3",
    ]  # fmt: skip


async def test_a_join_does_not_wait_behind_the_backlog_of_another_caller(submit, worker):
    for n in range(10):
        await submit(f"alice-{n}", caller="alice")
    await submit("alice-9", caller="bob")

    assert (await claimed_ids(worker()))[:2] == ["alice-0", "alice-9"]


async def test_positions_are_the_order_of_the_claims(jobs, submit, worker):
    for n in range(6):
        await submit(f"alice-{n}", caller="alice", priority=Priority.BATCH)
    for n in range(3):
        await submit(f"bob-{n}", caller="bob", priority=Priority.BATCH)
    await submit("carol-0", caller="carol")

    names = [f"alice-{n}" for n in range(6)] + [f"bob-{n}" for n in range(3)] + ["carol-0"]
    position = {name: (await jobs.state(name)).position for name in names}

    assert sorted(names, key=position.__getitem__) == await claimed_ids(worker())


async def test_interactive_jobs_of_all_lanes_go_first(submit, worker):
    await submit("batch", priority=Priority.BATCH)
    await submit("other lane", lane="compile:triton-3.8.0")

    ids = await claimed_ids(worker(), [LANE, "compile:triton-3.8.0"])

    assert ids == ["other lane", "batch"]


async def test_a_worker_only_gets_jobs_of_its_lanes(submit, worker):
    await submit("vector-add", lane="launch:cuda:90")

    assert await worker().claim([LANE]) is None


async def test_the_job_of_a_dead_worker_is_delivered_again(submit, worker, over):
    await submit("vector-add")
    dead = await worker("dead", lease_ms=50).claim([LANE])
    await over(keys.LEASES, "vector-add")

    assert await worker("reaper").reap() == []

    again = await worker("alive").claim([LANE])
    assert (again.id, again.attempt, again.deliveries) == ("vector-add", 2, 2)
    assert again.token > dead.token


async def test_a_heartbeat_keeps_the_job(redis, submit, worker):
    await submit("vector-add")
    attempts = worker(lease_ms=500)
    claim = await attempts.claim([LANE])
    first_end_ms = await redis.zscore(keys.LEASES, "vector-add")

    async def outlives_its_first_lease():
        assert await attempts.renew("vector-add", claim.token) == Heartbeat.OK
        await worker("reaper").reap()
        return await now_ms(redis) > first_end_ms

    await comes_true(outlives_its_first_lease)

    assert await worker("other").claim([LANE]) is None


async def test_an_attempt_goes_on_after_its_finish(submit, worker):
    """Its compilation still has to be written to the cache."""
    await submit("vector-add")
    attempts = worker()
    claim = await attempts.claim([LANE])
    assert await attempts.finish("vector-add", claim.token, b"good", reusable=True, keep_s=60)

    assert await attempts.renew("vector-add", claim.token) == Heartbeat.OK


async def test_a_late_finish_is_refused(jobs, submit, worker, over):
    await submit("vector-add")
    late = await worker("late", lease_ms=50).claim([LANE])
    await over(keys.LEASES, "vector-add")
    await worker("reaper").reap()
    again = await worker("alive").claim([LANE])

    assert not await worker("late").finish(
        "vector-add", late.token, b"late", reusable=True, keep_s=60
    )
    assert await worker("late").renew("vector-add", late.token) == Heartbeat.LOST
    assert await worker("alive").finish(
        "vector-add", again.token, b"good", reusable=True, keep_s=60
    )
    assert not await worker("late").finish(
        "vector-add", late.token, b"late", reusable=True, keep_s=60
    )
    assert (await jobs.result("vector-add")).record == b"good"


async def test_a_finish_that_is_sent_twice_is_accepted_twice(submit, worker):
    await submit("vector-add")
    claim = await worker().claim([LANE])

    for _ in range(2):
        assert await worker().finish("vector-add", claim.token, b"ok", reusable=True, keep_s=60)


async def test_a_finished_job_leaves_nothing_behind(redis, submit, worker):
    for n in range(3):
        await submit(f"job-{n}", caller=f"caller-{n % 2}")
    while claim := await worker().claim([LANE]):
        await worker().finish(claim.id, claim.token, b"ok", reusable=False, keep_s=60)

    kept = {key.decode() for key in await redis.keys("tritond:*")}
    assert kept == {
        *(f"tritond:{kind}:job-{n}" for n in range(3) for kind in ("result", "events")),
        f"tritond:rounds:interactive:{LANE}",
        f"tritond:used:{LANE}",
        "tritond:kept-bytes-limit",
        "tritond:token",
    }
    assert 0 < await redis.ttl(f"tritond:used:{LANE}") <= 3600
    assert await redis.hkeys(f"tritond:rounds:interactive:{LANE}") == [b""]


async def test_a_result_expires(jobs, submit, worker):
    await submit("vector-add")
    claim = await worker().claim([LANE])
    await worker().finish("vector-add", claim.token, b"ok", reusable=True, keep_s=1)

    async def is_gone():
        return await jobs.result("vector-add") is None

    await comes_true(is_gone)
    assert (await submit("vector-add")).outcome == SubmitOutcome.MISS


async def test_a_job_delivered_again_goes_before_its_callers_other_jobs(submit, worker, over):
    for n in range(3):
        await submit(f"job-{n}")
    dead = await worker("dead", lease_ms=20).claim([LANE])
    await over(keys.LEASES, dead.id)
    await worker("reaper").reap()

    assert await claimed_ids(worker()) == ["job-0", "job-1", "job-2"]


async def test_a_released_job_does_not_count_as_delivered(submit, worker):
    await submit("vector-add")
    stopping = await worker("stopping").claim([LANE])

    assert await worker("stopping").release("vector-add", stopping.token)

    again = await worker("staying").claim([LANE])
    assert (again.id, again.deliveries, again.attempt) == ("vector-add", 1, 2)
    assert not await worker("stopping").release("vector-add", stopping.token)


async def test_a_job_that_the_store_lost_is_skipped(redis, submit, worker):
    await submit("gone")
    await submit("vector-add", caller="bob")
    await redis.delete("tritond:job:gone")

    assert (await worker().claim([LANE])).id == "vector-add"
    assert await redis.keys("tritond:queued:*") == await redis.keys("tritond:turns:*") == []
