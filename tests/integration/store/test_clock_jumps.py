"""The store's clock jumps, or a worker's does: no one waits for the time that was jumped over.

What a clock leaves behind that was ahead, and went back, is written here as it would be.
"""

import time

import pytest

from service.caller import RequestRate
from service.http.problems import ProblemRaised
from store import keys
from store.api_keys import ApiKeys
from store.errors import GpuTimeSpent
from store.jobs.types import SubmitOutcome, device_lane
from store.usage import UsageAccounts, Used
from tests.integration.store.conftest import LANE, now_ms
from tests.waiting import comes_true

HOUR_S = 3600
GPU = device_lane("cuda:90", "NVIDIA H200")


async def test_a_request_that_was_made_an_hour_ahead_delays_no_other(redis):
    limits = RequestRate(redis)
    await limits.take("alice", 2)
    due_us = int(await redis.get(keys.REQUEST_RATE + "alice"))
    ahead_us = due_us + HOUR_S * 1_000_000
    await redis.set(keys.REQUEST_RATE + "alice", ahead_us, px=HOUR_S * 1000)

    await limits.take("alice", 2)
    await limits.take("alice", 2)
    with pytest.raises(ProblemRaised):
        await limits.take("alice", 2)


async def test_a_limit_of_requests_holds_though_the_clock_goes_forward(redis):
    limits = RequestRate(redis)
    for _ in range(2):
        await limits.take("alice", 2)
    due_us = int(await redis.get(keys.REQUEST_RATE + "alice"))
    await redis.set(keys.REQUEST_RATE + "alice", due_us - HOUR_S * 1_000_000, px=1000)

    for _ in range(2):
        await limits.take("alice", 2)
    with pytest.raises(ProblemRaised):
        await limits.take("alice", 2)


@pytest.mark.parametrize("ahead_s", [-HOUR_S * 24, HOUR_S * 24 * 365])
async def test_gpu_seconds_are_counted_by_the_store_s_clock(redis, submit, monkeypatch, ahead_s):
    key, _ = await ApiKeys(redis).create("alice", ("launch",), gpu_seconds_per_hour=10)
    right = time.time
    monkeypatch.setattr(time, "time", lambda: right() + ahead_s)

    await UsageAccounts(redis).add({key.id: Used(gpu_seconds=11)})

    [minute] = await redis.hkeys(keys.GPU_MINUTES + key.id)
    assert abs(int(minute) - await now_ms(redis) / 60_000) < 2
    with pytest.raises(GpuTimeSpent):
        await submit("job", lane=GPU, caller=key.id)


async def test_gpu_seconds_of_an_hour_that_is_yet_to_come_do_not_count(redis, submit):
    key, _ = await ApiKeys(redis).create("alice", ("launch",), gpu_seconds_per_hour=10)
    later = int(await now_ms(redis) / 60_000) + 24 * 60
    await redis.hset(keys.GPU_MINUTES + key.id, str(later), "11")

    answer = await submit("job", lane=GPU, caller=key.id)

    assert answer.outcome == SubmitOutcome.MISS
    assert not await redis.hexists(keys.GPU_MINUTES + key.id, str(later))


async def test_a_reaper_that_died_before_the_clock_went_back_is_followed(redis, worker):
    reaper = worker("reaper")
    await redis.set(keys.REAPER, "dead", px=reaper.term_ms)
    assert await reaper.reap() is None
    await redis.set(keys.REAPER, "dead", px=reaper.term_ms + HOUR_S * 1000)

    assert await reaper.reap() == []


async def test_a_lease_that_began_before_the_clock_went_back_ends(redis, submit, worker):
    await submit("job")
    lost = await worker("dead").claim([LANE])
    await redis.zadd(keys.LEASES, {"job": await now_ms(redis) + HOUR_S * 1000})
    reaper = worker("reaper", lease_ms=50)

    async def is_claimed_again():
        await reaper.reap()
        claim = await worker("alive").claim([LANE])
        return claim is not None and claim.token > lost.token

    await comes_true(is_claimed_again)


async def test_the_longest_lease_that_a_worker_may_have_is_not_cut_short(redis, submit, worker):
    await submit("job")
    await worker("slow", lease_ms=600_000).claim([LANE])
    ends_ms = await redis.zscore(keys.LEASES, "job")

    await worker("reaper", lease_ms=20).reap()

    assert await redis.zscore(keys.LEASES, "job") == ends_ms


async def test_a_job_that_runs_when_the_clock_goes_forward_is_finished_once(
    jobs, redis, submit, worker
):
    await submit("job")
    first = await worker("first").claim([LANE])
    await redis.zadd(keys.LEASES, {"job": await now_ms(redis) - HOUR_S * 1000})
    await worker("reaper").reap()
    second = await worker("second").claim([LANE])

    late = await worker("first").finish("job", first.token, b"1", reusable=True, keep_s=60)
    done = await worker("second").finish("job", second.token, b"2", reusable=True, keep_s=60)

    assert not late
    assert done
    assert (await jobs.result("job")).record == b"2"
