"""Compilations and derived results: complete, or a miss."""

import pytest

from store.blobs import Blobs, kept_content_bytes
from store.compilations import Compilations, Derived
from store.errors import IncludedTooLarge
from store.records import Miss

KEY = "9f" * 32
RECORD = b'{"state": "succeeded"}'
REQUEST = b'{"source": "@triton.jit ..."}'


@pytest.fixture
def compilations(cache):
    return Compilations(Blobs(cache))


@pytest.fixture
async def digests(cache, compilations):
    """Store a compilation with three stages; return its digests."""
    parts = {"ttir": b"module {}", "ptx": b".version 8.8", "cubin": b"\x7fELF"}
    digests = dict(zip(parts, await Blobs(cache).put_many(list(parts.values())), strict=True))
    await compilations.write(KEY, RECORD, REQUEST, digests)
    return digests


async def test_a_hit_has_the_record_and_what_was_asked_for(compilations, digests):
    hit = await compilations.hit(KEY, ["cubin", "ttir"])

    assert hit.record == RECORD
    assert hit.included == {"cubin": b"\x7fELF", "ttir": b"module {}"}
    assert hit.blobs == digests
    assert await compilations.read(KEY) == RECORD
    assert await compilations.request(KEY) == REQUEST


async def test_a_hit_is_one_round_trip(compilations, digests, cache):
    await compilations.hit(KEY, ["ptx"])
    before = (await cache.info("stats"))["total_commands_processed"]
    scripts = (await cache.info("commandstats"))["cmdstat_evalsha"]["calls"]

    await compilations.hit(KEY, ["ptx"])

    after = (await cache.info("commandstats"))["cmdstat_evalsha"]["calls"]
    assert after == scripts + 1
    # info (twice), evalsha, and the script's own HMGET, GET, EXISTS, EXISTS
    assert (await cache.info("stats"))["total_commands_processed"] - before <= 8


async def test_a_stage_that_was_not_reached_is_left_out(compilations, digests):
    assert (await compilations.hit(KEY, ["ptx", "sass"])).included == {"ptx": b".version 8.8"}


async def test_an_unknown_key_is_a_miss(compilations):
    assert await compilations.hit(KEY) is None
    assert await compilations.request(KEY) is None
    assert compilations.misses == {Miss.NO_RECORD: 1}


@pytest.mark.parametrize("include", [[], ["ttir"], ["ptx"]])
async def test_any_evicted_blob_is_a_miss(compilations, digests, cache, include):
    await cache.delete(f"tritond:blob:{digests['ptx']}")

    assert await compilations.hit(KEY, include) is None
    assert compilations.misses == {Miss.NO_BLOB: 1}


async def test_a_damaged_included_blob_is_a_miss_and_deleted(compilations, digests, cache):
    await cache.set(f"tritond:blob:{digests['ptx']}", b"damaged")

    assert await compilations.hit(KEY, ["ptx"]) is None

    assert compilations.misses == {Miss.DAMAGED_BLOB: 1}
    assert not await cache.exists(f"tritond:blob:{digests['ptx']}")


async def test_a_compilation_is_replaced_as_a_whole(compilations, digests):
    await compilations.write(KEY, b"{}", b"new request", {"ttir": digests["ttir"]})

    hit = await compilations.hit(KEY, ["ttir", "ptx"])
    assert (hit.record, list(hit.included)) == (b"{}", ["ttir"])
    assert await compilations.request(KEY) == b"new request"


async def test_a_forgotten_compilation_is_a_miss(compilations, digests, cache):
    await compilations.forget(KEY)

    assert await compilations.hit(KEY) is None
    assert await Blobs(cache).exists(digests["ptx"])


async def test_without_a_budget_everything_expires(cache, digests):
    """A server with a volatile-* policy can evict only keys that expire."""
    assert [await cache.ttl(key) for key in await cache.keys("tritond:*")].count(-1) == 0


async def test_a_derived_result_is_whole_or_a_miss(cache):
    fronts = Derived(Blobs(cache), "front")
    digest = await Blobs(cache).put(b"module {}")
    await fronts.write("slice-key", b'{"locations": []}', {"ttir": digest})

    assert await fronts.read("slice-key") == b'{"locations": []}'
    assert (await fronts.hit("slice-key", ["ttir"])).included == {"ttir": b"module {}"}
    assert await Derived(Blobs(cache), "back").read("slice-key") is None

    await cache.delete(f"tritond:blob:{digest}")
    assert await fronts.read("slice-key") is None
    assert fronts.misses == {Miss.NO_BLOB: 1}


async def test_a_derived_result_without_blobs_is_whole(cache):
    fronts = Derived(Blobs(cache), "front")
    await fronts.write("slice-key", b"{}", {})

    assert await fronts.read("slice-key") == b"{}"


async def test_what_a_request_means_is_answered_to_every_service(compilations, digests, cache):
    compilations.note_alias("digest", KEY, ["ptx"])
    await compilations.flush()

    hit = await Compilations(Blobs(cache)).hit_of_alias("digest")

    assert (hit.key, hit.record, hit.included) == (KEY, RECORD, {"ptx": b".version 8.8"})


async def test_a_meaning_is_no_promise(compilations, digests):
    assert await compilations.hit_of_alias("never noted") is None
    compilations.note_alias("digest", KEY, [])
    await compilations.flush()
    await compilations.forget(KEY)

    assert await compilations.hit_of_alias("digest") is None
    assert compilations.misses == {}, "the request is read next, and counted then"


async def test_blobs_beyond_a_limit_are_not_unpacked(compilations, digests, cache):
    whole = len(b".version 8.8")
    compilations.note_alias("digest", KEY, ["ptx"])
    await compilations.flush()

    for limit_bytes in (None, whole):
        assert await compilations.hit(KEY, ["ptx"], limit_bytes=limit_bytes)
        assert await compilations.hit_of_alias("digest", limit_bytes=limit_bytes)
    with pytest.raises(IncludedTooLarge, match=f"{whole} bytes, more than {whole - 1}"):
        await compilations.hit(KEY, ["ptx"], limit_bytes=whole - 1)
    with pytest.raises(IncludedTooLarge):
        await compilations.hit_of_alias("digest", limit_bytes=whole - 1)
    assert await compilations.hit(KEY, [], limit_bytes=0), "it includes nothing"


def test_the_size_of_a_blob_is_known_before_it_is_fetched():
    assert kept_content_bytes(b"bucket:800/2000") == 2000
    assert kept_content_bytes(b"bucket:800") == 0, "an earlier version wrote one number"
