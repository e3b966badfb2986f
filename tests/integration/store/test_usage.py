"""Accounts of callers by day, and the limits that are counted in the store."""

import time
from datetime import UTC, datetime

import pytest

from service.caller import RequestRate
from service.http.problems import ProblemRaised
from store import keys
from store.api_keys import ApiKeys
from store.errors import GpuTimeSpent
from store.jobs.types import cpu_lane, device_lane
from store.usage import KEPT_DAYS, UsageAccounts, UsageTally, Used
from tests.waiting import comes_true

GPU = device_lane("cuda:90", "NVIDIA H200")


async def test_what_processes_note_is_added_up_by_caller_and_day(redis):
    usage, one, other = UsageAccounts(redis), UsageTally(), UsageTally()
    one.note("alice", Used(requests=2, sent_bytes=10))
    other.note("alice", Used(cpu_seconds=0.5, gpu_seconds=0.25))
    other.note("bob", Used(requests=1))
    for tally in (one, other, one):
        await tally.flush(usage)

    [alice] = await usage.of("alice")
    assert alice.day == datetime.now(UTC).date().isoformat()
    assert alice.used == Used(2, 0, 10, 0.5, 0.25)
    assert [row.caller for row in await usage.of_all()] == ["alice", "bob"]
    assert await usage.of("eve") == []


async def test_accounts_go_after_their_days(redis):
    await UsageAccounts(redis).add({"alice": Used(requests=1)})
    [name] = await redis.keys(keys.USAGE + "*")

    assert 0 < await redis.ttl(name) <= (KEPT_DAYS + 1) * 24 * 3600


async def test_requests_beyond_the_limit_are_refused_in_all_services_together(redis):
    services = [RequestRate(redis), RequestRate(redis)]
    answered = [await services[n % 2].take("alice", 4) for n in range(4)]
    assert answered[0]["RateLimit"] == '"requests";r=3;t=1'
    with pytest.raises(ProblemRaised) as refused:
        await services[0].take("alice", 4)

    assert refused.value.slug == "too_many_requests"
    assert refused.value.headers == {
        "Retry-After": "1",
        "RateLimit-Policy": '"requests";q=4;w=1',
        "RateLimit": '"requests";r=0;t=1',
    }
    await services[0].take("bob", 4)


async def test_after_a_while_there_is_another_request(redis):
    limits = RequestRate(redis)

    async def is_taken():
        try:
            await limits.take("alice", 20)
        except ProblemRaised:
            return False
        return True

    while await is_taken():
        pass
    await comes_true(is_taken)


async def test_a_caller_without_gpu_time_is_refused_on_gpus_alone(redis, submit):
    key, _ = await ApiKeys(redis).create("alice", ("launch",), gpu_seconds_per_hour=10)
    await UsageAccounts(redis).add({key.id: Used(gpu_seconds=9)})
    await submit("first", lane=GPU, caller=key.id)
    await UsageAccounts(redis).add({key.id: Used(gpu_seconds=1), "bob": Used(gpu_seconds=100)})

    with pytest.raises(GpuTimeSpent) as refused:
        await submit("second", lane=GPU, caller=key.id)
    assert 3500 < refused.value.wait_s <= 3660
    await submit("on the CPU", lane=cpu_lane("0123456789abcdef"), caller=key.id)
    await submit("of bob", lane=GPU, caller="bob")


async def test_gpu_time_of_more_than_an_hour_ago_does_not_count(redis, submit):
    key, _ = await ApiKeys(redis).create("alice", ("launch",), gpu_seconds_per_hour=10)
    minute = int(time.time() // 60)
    await redis.hset(keys.GPU_MINUTES + key.id, mapping={minute - 61: 100, minute - 1: 9})

    await submit("first", lane=GPU, caller=key.id)


async def test_a_limit_can_be_changed_and_lifted(redis, submit):
    api_keys = ApiKeys(redis)
    key, secret = await api_keys.create("alice", ("launch",), gpu_seconds_per_hour=10)
    await UsageAccounts(redis).add({key.id: Used(gpu_seconds=11)})
    await api_keys.update(key.id, {"gpu_seconds_per_hour": 12, "requests_per_s": 5})
    await submit("first", lane=GPU, caller=key.id)
    await api_keys.update(key.id, {"gpu_seconds_per_hour": None})

    found = await api_keys.find(secret)
    assert (found.requests_per_s, found.gpu_seconds_per_hour) == (5, None)
    assert not await redis.exists(keys.GPU_LIMITS)
    assert await api_keys.update("unknown", {"requests_per_s": 1}) is None
