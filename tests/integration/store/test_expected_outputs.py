"""Cached results of references: per caller, within a budget, least recently used go first."""

import asyncio

import pytest

from store import keys
from store.budget import Budget
from store.errors import StoreUnavailable
from store.expected_outputs import LIFE_S, ExpectedOutputs

KIB = 1024


@pytest.fixture
def expected(cache):
    return ExpectedOutputs(cache, None, 8 * KIB)


async def kept(expected, names, caller="alice"):
    return [name for name in names if await expected.get(caller, name) is not None]


async def test_what_was_put_is_there_for_its_caller_alone(expected):
    await expected.put("alice", "key", b"answer")

    assert await expected.get("alice", "key") == b"answer"
    assert await expected.get("bob", "key") is None
    assert await expected.get("alice", "other") is None


async def test_an_answer_that_is_put_again_is_the_new_one_and_counted_once(expected, cache):
    for answer in (b"1", b"22", b"333"):
        await expected.put("alice", "key", answer)

    assert await expected.get("alice", "key") == b"333"
    assert await cache.hgetall(keys.EXPECTED_SIZES + "alice") == {b"": b"3", b"key": b"3"}


async def test_the_least_recently_used_give_way_and_no_other_caller_s(expected, cache):
    await expected.put("bob", "a", bytes(2 * KIB))
    for name in "abcd":
        await expected.put("alice", name, bytes(2 * KIB))
        await asyncio.sleep(0.002)
    await expected.get("alice", "a")
    await expected.put("alice", "e", bytes(1 * KIB))

    assert await kept(expected, "abcde") == ["a", "c", "d", "e"]
    assert await kept(expected, "a", "bob") == ["a"]
    assert await cache.hget(keys.EXPECTED_SIZES + "alice", "") == b"%d" % (7 * KIB)


async def test_what_would_take_too_much_of_the_budget_is_not_kept(expected):
    await expected.put("alice", "large", bytes(2 * KIB + 1))

    assert await expected.get("alice", "large") is None


async def test_no_budget_keeps_nothing(cache):
    expected = ExpectedOutputs(cache, None, 0)
    await expected.put("alice", "key", b"1")

    assert await expected.get("alice", "key") is None


async def test_there_are_so_many_answers_at_most(expected, monkeypatch):
    monkeypatch.setattr("store.expected_outputs.MAX_ANSWERS", 3)
    for name in "abcde":
        await expected.put("alice", name, b"1")
        await asyncio.sleep(0.002)

    assert await kept(expected, "abcde") == ["c", "d", "e"]


async def test_nothing_of_it_lives_forever(expected, cache):
    await expected.put("alice", "key", b"1")
    names = await cache.keys("tritond:expected*")

    assert len(names) == 3
    for name in names:
        assert 0 < await cache.ttl(name) <= LIFE_S


async def test_the_cache_s_own_budget_counts_answers_too_and_evicts_them(cache):
    budget = Budget(cache, limit_bytes=5 * KIB)
    expected = ExpectedOutputs(cache, budget, 80 * KIB)
    for name in "abcd":
        await expected.put("alice", name, bytes(2 * KIB))
        await cache.zadd(keys.CACHE_USED, {f"{keys.EXPECTED}alice:{name}": ord(name)})
    assert await expected.get("alice", "a") is not None
    await budget.sweep()

    assert await kept(expected, "abcd") == ["a", "d"]
    assert int(await cache.get(keys.CACHE_BYTES)) == 4 * KIB


async def test_what_gives_way_leaves_the_cache_s_books(cache):
    budget = Budget(cache, limit_bytes=1 << 20)
    expected = ExpectedOutputs(cache, budget, 8 * KIB)
    for number in range(9):
        await expected.put("alice", f"{number}", bytes(2 * KIB))
    await expected.put("alice", "8", bytes(2 * KIB))

    assert int(await cache.get(keys.CACHE_BYTES)) == 8 * KIB
    assert len(await cache.hgetall(keys.CACHE_SIZES)) == 4


async def test_a_full_server_refuses_to_keep_and_still_answers(expected, cache):
    await expected.put("alice", "key", b"1")
    await cache.config_set("maxmemory", 1)
    try:
        with pytest.raises(StoreUnavailable):
            await expected.put("alice", "other", b"2")
        assert await expected.get("alice", "key") == b"1"
    finally:
        await cache.config_set("maxmemory", 0)
