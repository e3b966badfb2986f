"""The byte budget: eviction of least recently used records, batched uses, exact accounting."""

import os

import pytest

from store.blobs import Blobs
from store.budget import Budget
from store.compilations import Compilations

BLOB_BYTES = 10_000


async def store_one(cache, budget, key):
    """Store a compilation with one incompressible artifact of about 10 kB."""
    digest = await Blobs(cache, budget).put(os.urandom(BLOB_BYTES))
    await Compilations(Blobs(cache, budget)).write(key, b"{}", b"{}", {"cubin": digest})


async def age(cache, key, used_s):
    """Pretend that everything of the compilation was last used at `used_s`."""
    blobs = (await cache.hget(f"tritond:compilation:{key}", "blobs")).decode().split()
    for member in (f"tritond:compilation:{key}", f"tritond:blob:{blobs[1]}"):
        await cache.zadd("tritond:cache-used", {member: used_s})


@pytest.fixture
def budget(cache):
    return Budget(cache, limit_bytes=3 * BLOB_BYTES)


async def booked_and_real(cache):
    booked = int(await cache.get("tritond:cache-bytes"))
    sizes = await cache.hgetall("tritond:cache-sizes")
    assert booked == sum(map(int, sizes.values()))
    kinds = ("tritond:blob:*", "tritond:compilation:*")
    real = {key for kind in kinds for key in await cache.keys(kind)}
    return set(sizes), real


async def test_what_was_not_used_for_longest_is_evicted(cache, budget):
    compilations = Compilations(Blobs(cache, budget))
    for n in range(5):
        await store_one(cache, budget, f"key-{n}")
        await age(cache, f"key-{n}", 1_000 + n)

    swept = await budget.sweep()

    assert swept.left_bytes <= 3 * BLOB_BYTES
    assert swept.freed_bytes > 2 * BLOB_BYTES
    assert [bool(await compilations.read(f"key-{n}")) for n in range(5)] == [False] * 3 + [True] * 2
    booked, real = await booked_and_real(cache)
    assert booked == real


async def test_a_use_protects_a_record_and_its_blobs(cache, budget):
    compilations = Compilations(Blobs(cache, budget))
    for n in range(5):
        await store_one(cache, budget, f"key-{n}")
        await age(cache, f"key-{n}", 1_000 + n)
    await compilations.hit("key-0")
    compilations.note_use("key-1")

    await budget.sweep()

    assert [bool(await compilations.read(f"key-{n}")) for n in range(5)] == [
        True, True, False, False, False,
    ]  # fmt: skip


async def test_uses_are_written_in_batches(cache, budget):
    compilations = Compilations(Blobs(cache, budget))
    await store_one(cache, budget, "popular")
    await cache.config_resetstat()
    for _ in range(50):
        await compilations.hit("popular")
    assert "cmdstat_zadd" not in await cache.info("commandstats")

    await budget.flush()

    assert (await cache.info("commandstats"))["cmdstat_zadd"]["calls"] == 2


async def test_within_the_budget_nothing_is_evicted(cache, budget):
    await store_one(cache, budget, "key-0")

    assert (await budget.sweep()).evicted == 0
    assert await Compilations(Blobs(cache, budget)).read("key-0")


async def test_a_blob_put_twice_is_booked_once(cache, budget):
    data = os.urandom(BLOB_BYTES)
    await Blobs(cache, budget).put(data)
    await Blobs(cache, budget).put(data)

    assert BLOB_BYTES <= int(await cache.get("tritond:cache-bytes")) < 1.1 * BLOB_BYTES


async def test_what_is_deleted_leaves_the_books(cache, budget):
    await store_one(cache, budget, "key-0")
    await Compilations(Blobs(cache, budget)).forget("key-0")

    booked, real = await booked_and_real(cache)
    assert booked == real
    assert len(real) == 1


async def test_jobs_are_never_swept(cache, redis):
    await redis.set("tritond:job:vector-add", b"x" * BLOB_BYTES)

    await Budget(cache, limit_bytes=0).sweep()

    assert await redis.exists("tritond:job:vector-add")
