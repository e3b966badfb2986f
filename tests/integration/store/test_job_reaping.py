"""The reaper ends jobs that no worker ends: poisonous, overdue, or unreadable ones."""

from store import keys
from tests.integration.store.conftest import LANE, claimed_ids, nobody_reaps
from tests.waiting import comes_true


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


async def test_the_reaper_ends_a_job_that_is_not_claimed_in_time(submit, worker, over):
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


async def test_the_reaper_ends_a_job_that_no_worker_can_end(submit, worker):
    await submit("poison")
    for _ in range(3):
        claim = await worker().claim([LANE])
        await worker().abandon("poison", claim.token)
        lapsed = await worker("reaper").reap()

    assert [(claim.id, claim.dead_letter) for claim in lapsed] == [("poison", "exhausted")]


async def test_a_job_with_missing_fields_stops_no_other(redis, submit, worker):
    """Another version may have written it, or a lost server left it."""
    await submit("odd", caller="adam")
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
    """As after a failover to a replica that lags behind."""
    await submit("lost")
    await redis.delete(keys.JOB + "lost", keys.CALLERS + "lost", keys.EVENTS + "lost")
    await submit("lost")
    await submit("next")

    assert sorted(await claimed_ids(worker())) == ["lost", "next"]
