"""Shares: no caller and no priority starves the others."""

import asyncio
import itertools

import pytest

from store import keys
from store.errors import CallerQueueFull, QueueFull
from store.jobs.consumer import JobConsumer
from store.jobs.producer import JobProducer
from store.jobs.types import LaneLoad, Priority, QueueLimits, SubmitOutcome
from tests.integration.store.conftest import now_ms

LANE = "compile:triton-3.9.0"


@pytest.fixture
def impatient(redis, blocking):
    """Return attempts for which every batch job has waited for long."""
    return JobConsumer(redis, blocking, "worker-1", QueueLimits(aged_ms=0))


async def claimed_callers(attempts, count):
    return [(await attempts.claim([LANE])).id.partition("-")[0] for _ in range(count)]


async def test_of_all_who_wait_the_one_who_runs_least_is_next(submit, worker):
    for n in range(6):
        await submit(f"alice-{n}")
    await claimed_callers(worker(), 2)
    for n in range(3):
        await submit(f"bob-{n}", caller="bob")
    await submit("carol-0", caller="carol")

    order = await claimed_callers(worker(), 5)

    assert sorted(order[:2]) == ["bob", "carol"]
    assert order[2:4] == ["bob", "alice"] or order[2:4] == ["bob", "bob"]


async def test_what_a_caller_runs_counts_until_it_is_over(redis, jobs, submit, worker):
    for n in range(4):
        await submit(f"alice-{n}")
    claims = [await worker().claim([LANE]) for _ in range(4)]

    await worker().finish(claims[0].id, claims[0].token, b"ok", reusable=True, keep_s=60)
    await worker().release(claims[1].id, claims[1].token)
    await jobs.cancel(claims[2].id, "alice", b"cancelled")

    assert await redis.hgetall(f"tritond:running:interactive:{LANE}") == {b"alice": b"1"}


async def test_of_many_who_wait_all_are_served(submit, worker):
    for n in range(40):
        await submit(f"caller{n}-0", caller=f"caller{n}")
        await submit(f"caller{n}-1", caller=f"caller{n}")

    assert len(set(await claimed_callers(worker(), 40))) == 40
    assert len(set(await claimed_callers(worker(), 40))) == 40
    assert await worker().claim([LANE]) is None


async def test_batch_work_is_done_though_interactive_work_never_ends(submit, impatient):
    await submit("batch-0", priority=Priority.BATCH, caller="bob")
    for n in range(10):
        await submit(f"now-{n}")

    order = await claimed_callers(impatient, 11)

    assert order.index("batch") == 3, "one of four claims is for aged batch work"


async def test_batch_work_that_waits_for_a_moment_waits_for_interactive_work(submit, worker):
    await submit("batch-0", priority=Priority.BATCH, caller="bob")
    for n in range(10):
        await submit(f"now-{n}")

    assert (await claimed_callers(worker(), 11))[-1] == "batch"


async def test_the_reserve_is_for_interactive_work_of_who_runs_none(submit, worker):
    await submit("alice-0")
    await submit("alice-1")
    await submit("bob-0", priority=Priority.BATCH, caller="bob")
    await worker().claim([LANE])

    assert await worker().claim_reserved([LANE]) is None

    await submit("carol-0", caller="carol")
    assert (await worker().claim_reserved([LANE])).id == "carol-0"
    assert await worker().claim_reserved([LANE]) is None
    assert {(await worker().claim([LANE])).id for _ in range(2)} == {"alice-1", "bob-0"}


async def test_batch_work_of_a_caller_does_not_take_its_part_of_the_reserve(submit, worker):
    await submit("batch-0", priority=Priority.BATCH)
    await worker().claim([LANE])
    await submit("now-0")

    assert (await worker().claim_reserved([LANE])).id == "now-0"


async def test_a_newcomer_wakes_a_worker_without_a_free_slot(submit, worker):
    attempts = worker()
    await submit("alice-0")
    await attempts.claim([LANE])
    await submit("bob-0", caller="bob")

    await attempts.wait_for_newcomer([LANE], timeout_s=60)

    assert (await attempts.claim_reserved([LANE])).id == "bob-0"


async def test_a_queue_that_others_filled_has_room_for_a_newcomer(redis):
    jobs = JobProducer(redis, QueueLimits(queued=40, queued_per_caller=20))

    async def submit(job_id, caller, priority=Priority.BATCH):
        return await jobs.submit(
            job_id, lane=LANE, priority=priority, payload=b"", caller=caller, deadline_ms=60_000
        )

    for n in range(20):
        await submit(f"alice-{n}", "alice")
        await submit(f"bob-{n}", "bob")

    for n in range(2):  # a twentieth of the queue
        assert (await submit(f"carol-{n}", "carol")).outcome == SubmitOutcome.MISS
    with pytest.raises(QueueFull):
        await submit("carol-2", "carol")
    with pytest.raises(QueueFull):
        await submit("alice-20", "alice")
    assert (await submit("now", "alice", Priority.INTERACTIVE)).outcome == SubmitOutcome.MISS


async def test_many_keys_fill_a_queue_to_twice_its_limit_and_no_further(redis):
    jobs = JobProducer(redis, QueueLimits(queued=40, queued_per_caller=20))
    accepted = 0
    for key in range(100):
        for n in range(3):
            try:
                await jobs.submit(
                    f"key{key}-{n}", lane=LANE, priority=Priority.INTERACTIVE, payload=b"",
                    caller=f"key{key}", deadline_ms=60_000,
                )  # fmt: skip
            except (QueueFull, CallerQueueFull):
                continue
            accepted += 1

    assert accepted == 80
    assert await redis.zcard(keys.QUEUED + LANE) == 80


async def test_a_caller_who_filled_its_share_with_batch_work_may_ask_for_something_now(redis):
    jobs = JobProducer(redis, QueueLimits(queued=1000, queued_per_caller=3))

    async def submit(job_id, priority):
        return await jobs.submit(
            job_id, lane=LANE, priority=priority, payload=b"", caller="alice", deadline_ms=60_000
        )

    for n in range(3):
        await submit(f"batch-{n}", Priority.BATCH)
    with pytest.raises(CallerQueueFull):
        await submit("batch-3", Priority.BATCH)
    for n in range(3):
        assert (await submit(f"now-{n}", Priority.INTERACTIVE)).outcome == SubmitOutcome.MISS
    with pytest.raises(CallerQueueFull):
        await submit("now-3", Priority.INTERACTIVE)


async def test_the_load_of_a_lane_is_its_queue_and_the_wait_of_its_oldest_job(
    submit, worker, jobs, redis
):
    await submit("alice-old", priority=Priority.BATCH)
    since_ms = await now_ms(redis)
    for n in range(3):
        await submit(f"alice-{n}", priority=Priority.BATCH)
    await submit("bob-0", caller="bob")
    given_back = await worker().claim([LANE])  # bob's
    await worker().release(given_back.id, given_back.token)

    least_ms = await now_ms(redis) - since_ms
    loads = await jobs.load([LANE, "sweeps"])

    assert loads["sweeps"] == LaneLoad(0, 0)
    assert loads[LANE].queued == 5
    assert loads[LANE].oldest_wait_ms >= int(least_ms)


async def test_a_job_that_was_given_back_counts_from_when_it_was_submitted(
    submit, worker, jobs, redis
):
    await submit("alice-0")
    claim = await worker().claim([LANE])
    await asyncio.sleep(0.05)
    await submit("alice-1")
    await worker().release(claim.id, claim.token)

    assert (await jobs.load([LANE]))[LANE].oldest_wait_ms >= 50


async def test_of_callers_who_run_equally_much_the_one_who_used_least_time_is_next(submit, worker):
    for n in range(4):
        await submit(f"alice-{n}")
        await submit(f"bob-{n}", caller="bob")
    order = []
    for _ in range(6):
        claim = await worker().claim([LANE])
        order.append(caller := claim.id.partition("-")[0])
        used_ms = 3000 if caller == "alice" else 1000
        await worker().finish(
            claim.id, claim.token, b"{}", reusable=False, keep_s=60, used_ms=used_ms
        )

    assert order == ["alice", "bob", "bob", "bob", "alice", "bob"]


async def test_who_comes_back_has_no_credit_for_the_time_away(submit, worker):
    async def run_one(used_ms):
        claim = await worker().claim([LANE])
        done = {"reusable": False, "keep_s": 60, "used_ms": used_ms}
        await worker().finish(claim.id, claim.token, b"{}", **done)
        return claim.id.partition("-")[0]

    for n in range(6):
        await submit(f"alice-{n}")
    for _ in range(3):
        await run_one(5000)
    for n in range(3):
        await submit(f"bob-{n}", caller="bob")

    assert [await run_one(5000) for _ in range(5)] == ["bob", "alice", "bob", "alice", "bob"]


async def test_a_lost_attempt_counts_with_all_its_time(submit, worker, redis):
    await submit("alice-0")
    claim = await worker().claim([LANE])
    await asyncio.sleep(0.05)
    await worker().release(claim.id, claim.token)

    assert int(await redis.hget(keys.USED + LANE, "alice")) >= 50


async def finish_one(worker, used_ms):
    claim = await worker().claim([LANE])
    done = {"reusable": False, "keep_s": 60, "used_ms": used_ms}
    await worker().finish(claim.id, claim.token, b"{}", **done)
    return claim.id.partition("-")[0]


async def test_of_many_callers_the_one_who_used_least_time_is_next(submit, worker):
    names = [f"caller{n:02}" for n in range(40)]
    for name in names:
        await submit(f"{name}-0", caller=name)
    used_ms = {await finish_one(worker, 1000 - n): 1000 - n for n in range(40)}
    for name in names:
        await submit(f"{name}-1", caller=name)

    order = [await finish_one(worker, 5000) for _ in names]

    assert order == sorted(names, key=used_ms.get)


async def test_a_caller_whose_jobs_cost_nothing_does_not_go_first_for_ever(submit, worker):
    await submit("zoe-0", caller="zoe")
    order = []
    for n in range(5):
        await submit(f"alice-{n}")
        order.append(await finish_one(worker, 0))

    assert "zoe" in order[:3]


async def test_a_claim_and_the_load_of_a_lane_cost_the_same_for_any_number_of_callers(
    redis, jobs, submit, worker
):
    async def commands():
        stats = await redis.info("commandstats")
        return sum(each["calls"] for each in stats.values())

    costs, number = [], itertools.count()
    for callers in (2, 2, 40):  # the first one loads the scripts
        for _ in range(callers):
            await submit(f"job-{next(number)}", caller=f"caller-{next(number)}")
        before = await commands()
        await worker().claim([LANE])
        await jobs.load([LANE])
        costs.append(await commands() - before)

    assert abs(costs[1] - costs[2]) <= 2, "a round begins now and then"
