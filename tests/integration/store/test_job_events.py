"""Events of a job, readable from any point, ending with `finished`."""

import asyncio

import pytest

from store.events import EventFollowers, Events
from tests.waiting import comes_true

LANE = "compile:triton-3.9.0"


@pytest.fixture
def events(redis):
    return Events(redis)


@pytest.fixture
async def following(redis, blocking, events):
    following = EventFollowers(redis, blocking, events, silence_s=0.2)
    task = asyncio.create_task(following.run())
    yield following
    task.cancel()
    await asyncio.wait([task])


async def test_the_life_of_a_job_is_reported(events, submit, worker):
    await submit("vector-add")
    claim = await worker().claim([LANE])
    assert await events.append("vector-add", claim.token, "stage", {"stage": "ttir", "ms": 1.9})
    await worker().finish("vector-add", claim.token, b"ok", reusable=True, keep_s=60)

    reported = await events.read("vector-add")

    assert [event.kind for event in reported] == ["queued", "started", "stage", "finished"]
    assert reported[2].data == b'{"stage":"ttir","ms":1.9}'
    assert await events.read("vector-add", after=reported[2].id) == [reported[3]]


async def test_a_follower_sees_events_as_they_come_and_is_done_at_the_end(
    events, following, submit, worker
):
    seen = []

    async def follow():
        async for event in following.follow("vector-add"):
            if event is not None:
                seen.append(event.kind)  # noqa: PERF401  (must be seen as it comes)

    await submit("vector-add")
    follower = asyncio.create_task(follow())
    claim = await worker().claim([LANE])
    await events.append("vector-add", claim.token, "stage", {"stage": "ptx"})
    await comes_true(lambda: len(seen) == 3)
    assert seen == ["queued", "started", "stage"]

    await worker().finish("vector-add", claim.token, b"ok", reusable=True, keep_s=60)

    await asyncio.wait_for(follower, 60)
    assert seen[-1] == "finished"


async def test_a_follower_of_a_cancelled_job_is_done(following, jobs, submit):
    await submit("vector-add")
    await jobs.cancel("vector-add", "alice", b"cancelled")

    async with asyncio.timeout(5):
        reported = [event async for event in following.follow("vector-add")]

    assert [event.kind for event in reported] == ["queued", "finished"]
    assert reported[-1].data == b'{"ending":"cancelled"}'


async def test_a_follower_who_knows_the_end_is_done_at_once(events, following, jobs, submit):
    await submit("vector-add")
    await jobs.cancel("vector-add", "alice", b"cancelled")
    last = (await events.read("vector-add"))[-1]

    async with asyncio.timeout(2):
        assert [event async for event in following.follow("vector-add", after=last.id)] == []


async def test_a_follower_learns_of_a_silence(following, submit):
    await submit("vector-add")

    async with asyncio.timeout(5):
        reported = following.follow("vector-add")
        assert (await anext(reported)).kind == "queued"
        assert await anext(reported) is None
    await reported.aclose()


async def test_followers_share_one_connection(redis, following, submit):
    await submit("vector-add")
    before = len(await redis.client_list())

    crowd = [following.follow("vector-add") for _ in range(20)]
    for follower in crowd:
        assert (await anext(follower)).kind == "queued"

    assert len(await redis.client_list()) - before <= 1
    for follower in crowd:
        await follower.aclose()


async def test_a_late_attempt_reports_nothing(events, jobs, submit, worker):
    await submit("vector-add")
    late = await worker().claim([LANE])
    await jobs.cancel("vector-add", "alice", b"cancelled")
    await submit("vector-add")

    assert not await events.append("vector-add", late.token, "stage", {"stage": "ttir"})


async def test_a_new_run_begins_a_new_story(events, jobs, submit):
    await submit("vector-add")
    await jobs.cancel("vector-add", "alice", b"cancelled")
    await submit("vector-add")

    assert [event.kind for event in await events.read("vector-add")] == ["queued"]


async def test_the_story_is_capped(events, redis, submit, worker):
    await submit("chatty")
    claim = await worker().claim([LANE])
    for n in range(600):
        await events.append("chatty", claim.token, "stage", {"n": n})

    assert await redis.xlen("tritond:events:chatty") <= 350


async def test_a_wrong_event_id_is_refused(events):
    with pytest.raises(ValueError, match="'yesterday' is not the id of an event"):
        await events.read("vector-add", after="yesterday")


@pytest.mark.slow
async def test_thousands_of_followers_share_one_reader(redis, following, submit, worker):
    await submit("vector-add")
    followers = [asyncio.create_task(kinds(following)) for _ in range(5_000)]
    await asyncio.sleep(0)
    await redis.config_resetstat()

    claim = await worker().claim([LANE])
    await worker().finish("vector-add", claim.token, b"ok", reusable=True, keep_s=60)

    heard = await asyncio.wait_for(asyncio.gather(*followers), 30)
    assert heard == [["queued", "started", "finished"]] * 5_000
    calls = await redis.info("commandstats")
    assert calls["cmdstat_xrange"]["calls"] < 20


async def kinds(following):
    return [event.kind async for event in following.follow("vector-add") if event is not None]
