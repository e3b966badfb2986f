"""Claiming: one worker per job, fair turns, no lost wake-up, leases and fencing."""

import asyncio
import time

import pytest

from store import keys
from store.jobs.types import Heartbeat, Priority, State, SubmitOutcome
from tests.waiting import comes_true

LANE = "compile:triton-3.9.0"


async def now_ms(redis):
    seconds, microseconds = await redis.time()
    return 1000 * seconds + microseconds / 1000


@pytest.fixture
def over(redis):
    """Waits until the time that the store noted for a job, a lease or a deadline, has passed."""

    async def over(which, job_id):
        end_ms = await redis.zscore(which, job_id)

        async def has_passed():
            return await now_ms(redis) > end_ms + 1

        await comes_true(has_passed)

    return over


async def claimed_ids(attempts, lanes=(LANE,)):
    ids = []
    while claim := await attempts.claim(lanes):
        ids.append(claim.id)
    return ids


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


async def test_waiting_ends_as_soon_as_there_is_work(redis, submit, worker):
    attempts = worker()
    assert await attempts.claim([LANE]) is None
    waiting = asyncio.create_task(attempts.wait_for_work(30))
    await comes_true(lambda: idle_workers(redis, 1))

    await submit("vector-add", priority=Priority.BATCH)

    await asyncio.wait_for(waiting, 5)
    assert (await attempts.claim([LANE])).id == "vector-add"


async def test_work_that_came_between_claim_and_wait_is_not_slept_through(submit, worker):
    attempts = worker()
    assert await attempts.claim([LANE]) is None
    await submit("vector-add")

    await asyncio.wait_for(attempts.wait_for_work(30), 5)


async def test_waiting_ends_in_time_when_there_is_no_work(worker):
    attempts = worker()
    await attempts.claim([LANE])
    started = time.monotonic()

    await attempts.wait_for_work(0.2)

    assert time.monotonic() - started > 0.15


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
        f"tritond:stream:interactive:{LANE}",
        f"tritond:rounds:interactive:{LANE}",
        "tritond:token",
    }
    assert await redis.hkeys(f"tritond:rounds:interactive:{LANE}") == [b""]
    assert await redis.xlen(f"tritond:stream:interactive:{LANE}") == 0
    assert (await redis.xpending(f"tritond:stream:interactive:{LANE}", "workers"))["pending"] == 0


async def test_a_result_expires(jobs, submit, worker):
    await submit("vector-add")
    claim = await worker().claim([LANE])
    await worker().finish("vector-add", claim.token, b"ok", reusable=True, keep_s=1)

    async def is_gone():
        return await jobs.result("vector-add") is None

    await comes_true(is_gone)
    assert (await submit("vector-add")).outcome == SubmitOutcome.MISS


async def test_a_poison_job_ends_with_the_reaper_after_three_deliveries(jobs, submit, worker, over):
    await submit("poison")
    for delivery in (1, 2, 3):
        claim = await worker(f"victim-{delivery}", lease_ms=20).claim([LANE])
        assert claim.deliveries == delivery
        await over(keys.LEASES, "poison")
        if delivery < 3:
            assert await worker("reaper").reap() == []

    (exhausted,) = await worker("reaper").reap()

    assert (exhausted.id, exhausted.dead_letter, exhausted.deliveries) == ("poison", "exhausted", 3)
    assert await worker("next victim").claim([LANE]) is None
    assert await worker("reaper").finish(
        "poison", exhausted.token, b"worker_lost", reusable=False, keep_s=60
    )
    assert (await jobs.result("poison")).record == b"worker_lost"


async def test_a_job_that_nobody_claims_in_time_ends_with_the_reaper(submit, worker, over):
    await submit("overdue", deadline_ms=30)
    await submit("in time")
    await over(keys.DEADLINES, "overdue")

    (overdue,) = await worker("reaper").reap()

    assert (overdue.id, overdue.dead_letter) == ("overdue", "overdue")
    assert await worker("reaper").reap() == []
    assert (await worker().claim([LANE])).id == "in time"
    assert await worker().claim([LANE]) is None


async def test_the_claim_of_a_dead_reaper_goes_to_another_reaper(redis, submit, worker, over):
    await submit("overdue", deadline_ms=1)
    await over(keys.DEADLINES, "overdue")
    (first,) = await worker("dead reaper", lease_ms=20).reap()
    await over(keys.LEASES, "overdue")
    await comes_true(lambda: nobody_reaps(redis))

    (second,) = await worker("reaper").reap()

    assert (second.id, second.dead_letter) == ("overdue", "overdue")
    assert second.token > first.token


async def test_a_job_delivered_again_goes_before_its_callers_other_jobs(submit, worker, over):
    for n in range(3):
        await submit(f"job-{n}")
    dead = await worker("dead", lease_ms=20).claim([LANE])
    await over(keys.LEASES, dead.id)
    await worker("reaper").reap()

    assert await claimed_ids(worker()) == ["job-1", "job-0", "job-2"]


async def test_a_released_job_does_not_count_as_delivered(submit, worker):
    await submit("vector-add")
    stopping = await worker("stopping").claim([LANE])

    assert await worker("stopping").release("vector-add", stopping.token)

    again = await worker("staying").claim([LANE])
    assert (again.id, again.deliveries, again.attempt) == ("vector-add", 1, 2)
    assert not await worker("stopping").release("vector-add", stopping.token)


async def test_a_stream_entry_without_its_job_is_skipped(redis, submit, worker):
    await submit("gone")
    await submit("vector-add", caller="bob")
    await redis.delete("tritond:job:gone")

    assert (await worker().claim([LANE])).id == "vector-add"
    assert await redis.xlen(f"tritond:stream:interactive:{LANE}") == 1


async def test_any_number_of_workers_is_one_consumer_of_a_stream(redis, submit, worker):
    for n in range(5):
        await submit(f"job-{n}")
        await worker(f"worker-{n}").claim([LANE])

    consumers = await redis.xinfo_consumers(f"tritond:stream:interactive:{LANE}", "workers")
    assert len(consumers) == 1


async def idle_workers(redis, count):
    """Whether so many connections wait for a token."""
    return (await redis.info("clients"))["blocked_clients"] == count


async def nobody_reaps(redis):
    return not await redis.exists(keys.REAPER)


async def wait_idly(attempts):
    """Wait as an idle worker does, and claim once woken."""
    assert await attempts.claim([LANE]) is None
    await attempts.wait_for_work(30)
    return await attempts.claim([LANE])


async def test_a_new_job_wakes_one_worker(redis, submit, worker):
    idle = [asyncio.create_task(wait_idly(worker(f"idle-{n}"))) for n in range(8)]
    await comes_true(lambda: idle_workers(redis, 8))

    await submit("vector-add")

    done, waiting = await asyncio.wait(idle, return_when=asyncio.FIRST_COMPLETED)
    assert [task.result().id for task in done] == ["vector-add"]
    assert await idle_workers(redis, 7)
    assert not any(task.done() for task in waiting)
    for task in waiting:
        task.cancel()


async def test_each_of_many_new_jobs_wakes_a_worker(redis, submit, worker):
    idle = [asyncio.create_task(wait_idly(worker(f"idle-{n}"))) for n in range(8)]
    await comes_true(lambda: idle_workers(redis, 8))

    await asyncio.gather(*(submit(f"job-{n}") for n in range(8)))

    claims = await asyncio.wait_for(asyncio.gather(*idle), 5)
    assert sorted(claim.id for claim in claims) == [f"job-{n}" for n in range(8)]


async def test_a_claim_that_leaves_jobs_behind_wakes_the_next_worker(redis, submit, worker):
    """Two jobs of one caller: the second has its turn when the first is claimed."""
    idle = [asyncio.create_task(wait_idly(worker(f"idle-{n}"))) for n in range(2)]
    await comes_true(lambda: idle_workers(redis, 2))

    await submit("first")
    await submit("second")

    claims = await asyncio.wait_for(asyncio.gather(*idle), 5)
    assert {claim.id for claim in claims} == {"first", "second"}


async def test_no_wake_up_is_left_when_all_jobs_are_claimed(redis, submit, worker):
    await submit("vector-add")
    await worker().claim([LANE])

    assert await redis.keys("tritond:wake:*") == []


async def test_one_process_reaps_for_all(submit, worker, over):
    assert await worker("elected").reap() == []
    await submit("overdue", deadline_ms=1)
    await over(keys.DEADLINES, "overdue")

    assert await worker("other").reap() is None
    assert [claim.id for claim in await worker("elected").reap()] == ["overdue"]


async def test_a_reaper_that_is_silent_is_followed(redis, worker):
    await worker("gone", lease_ms=60).reap()

    await comes_true(lambda: nobody_reaps(redis))

    assert await worker("next", lease_ms=60).reap() == []


async def test_an_abandoned_attempt_counts_as_a_delivery(submit, worker):
    await submit("vector-add")
    claim = await worker("clueless").claim([LANE])

    assert await worker("clueless").abandon("vector-add", claim.token)

    assert await worker("reaper").reap() == []
    again = await worker("other").claim([LANE])
    assert (again.id, again.deliveries) == ("vector-add", 2)
    assert not await worker("clueless").abandon("vector-add", claim.token)


async def test_a_job_that_nobody_can_bring_to_an_end_ends_with_the_reaper(submit, worker):
    await submit("poison")
    for _ in range(3):
        claim = await worker().claim([LANE])
        await worker().abandon("poison", claim.token)
        lapsed = await worker("reaper").reap()

    assert [(claim.id, claim.dead_letter) for claim in lapsed] == [("poison", "exhausted")]


async def test_a_job_of_which_fields_are_missing_stops_nobody(redis, submit, worker):
    """As another version may have written it, or a lost server left it."""
    await submit("odd", caller="eve")
    await submit("vector-add")
    await redis.hdel("tritond:job:odd", "refresh", "submitted_ms", "payload", "priority")

    claims = [await worker().claim([LANE]), await worker().claim([LANE])]

    assert [claim.id for claim in claims] == ["odd", "vector-add"]
    assert claims[0].payload == b""
    await redis.zadd("tritond:leases", {"odd": 0, "vector-add": 0})
    assert await worker("reaper").reap() == []
    assert not await redis.exists("tritond:job:odd")
    assert (await worker().claim([LANE])).id == "vector-add"


async def test_a_job_that_the_store_lost_gives_its_callers_turn_back(redis, submit, worker):
    """As after a failover to a server that had not heard of all of it."""
    await submit("lost")
    await redis.delete(keys.JOB + "lost", keys.CALLERS + "lost", keys.EVENTS + "lost")
    await submit("lost")
    await submit("next")

    assert sorted(await claimed_ids(worker())) == ["lost", "next"]
