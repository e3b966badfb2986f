"""States of the page: shared in a namespace, held by callers, each within a budget."""

import asyncio
import os

import pytest

from store import keys
from store.page_states import PageStates

KIB = 1024


@pytest.fixture
def states(redis):
    return PageStates(redis, 10 * KIB)


def incompressible(size_bytes: int) -> bytes:
    return os.urandom(size_bytes)


async def stored(states, caller, sizes, namespace="team"):
    digests = []
    for size in sizes:
        digest, _ = await states.put(namespace, caller, incompressible(size))
        digests.append(digest)
        await asyncio.sleep(0.002)
    return digests


async def test_a_state_is_there_for_its_namespace_alone(states):
    digest, is_new = await states.put("team", "alice", b"state")
    _, is_new_again = await states.put("team", "bob", b"state")

    assert (is_new, is_new_again) == (True, False)
    assert await states.get("team", digest) == b"state"
    assert await states.get("others", digest) is None


async def test_a_short_name_leads_to_its_first_state_as_long_as_that_lives(states, redis):
    [first, _] = await stored(states, "alice", [3 * KIB] * 2)
    short = first[: len("sha256:") + 32]
    assert await states.get("team", short) == await states.get("team", first) is not None
    assert await states.get("team", first[: len("sha256:") + 16]) is None
    assert await states.get("others", short) is None

    await stored(states, "alice", [3 * KIB] * 2)
    assert await states.get("team", short) is None
    assert not await redis.exists(f"{keys.STATE_SHORT}team:{short}")


async def test_a_short_name_of_an_earlier_version_leads_to_its_state_as_long_as_that_lives(
    states, redis
):
    [first] = await stored(states, "alice", [3 * KIB])
    old = first[: len("sha256:") + 16]
    name = f"{keys.STATE_SHORT}team:{old}"
    await redis.set(name, first, ex=100)
    assert await states.get("team", old) == await states.get("team", first)
    assert await redis.ttl(name) > 100

    await redis.expire(name, 100)
    await states.put("team", "alice", await states.get("team", first))
    assert await redis.ttl(name) > 100

    await stored(states, "alice", [3 * KIB] * 3)
    assert await states.get("team", old) is None
    assert not await redis.exists(name)


async def test_only_the_caller_s_own_oldest_states_give_way(states):
    [of_bob] = await stored(states, "bob", [3 * KIB])
    first, second, third = await stored(states, "alice", [3 * KIB] * 3)

    assert await states.get("team", first) is None
    assert None not in [await states.get("team", digest) for digest in (second, third, of_bob)]


async def test_what_two_callers_stored_stays_until_both_let_go(states):
    shared = incompressible(3 * KIB)
    digest, _ = await states.put("team", "alice", shared)
    await states.put("team", "bob", shared)

    await stored(states, "alice", [3 * KIB] * 3)
    assert await states.get("team", digest) == shared
    await stored(states, "bob", [3 * KIB] * 3)
    assert await states.get("team", digest) is None


async def test_many_small_ones_are_as_many_as_their_keys_let_there_be(states, redis):
    await stored(states, "alice", [1] * 20)

    names = [name async for name in redis.scan_iter(keys.STATE + "*")]
    assert len(names) == 9


async def test_the_books_agree_with_what_is_kept(states, redis):
    await stored(states, "alice", [KIB] * 20)
    sizes = await redis.hgetall(keys.STATES_SIZES + "alice")
    total = int(sizes.pop(b""))

    assert total == sum(map(int, sizes.values())) <= 10 * KIB
    assert await redis.zcard(keys.STATES_STORED + "alice") == len(sizes)
    names = [name async for name in redis.scan_iter(keys.STATE + "*")]
    assert len(names) == len(sizes)


async def test_storing_it_again_makes_it_the_newest(states):
    kept = incompressible(3 * KIB)
    digest, _ = await states.put("team", "alice", kept)
    await stored(states, "alice", [3 * KIB])
    await states.put("team", "alice", kept)
    await stored(states, "alice", [3 * KIB])

    assert await states.get("team", digest) == kept


async def test_a_damaged_state_is_none(states, redis):
    digest, _ = await states.put("team", "alice", b"state")
    await redis.set(keys.STATE + f"team:{digest}", b"something else")

    assert await states.get("team", digest) is None
