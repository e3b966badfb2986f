"""Blobs: bytes by digest, verified on every read."""

import os
import time
import tracemalloc

import pytest
import zstandard

from store import keys
from store.blobs import LIFE_S, SENT_BYTES, Blobs
from store.budget import Budget
from store.frames import ArrivingBlob, digest_of, digested, packed, unpacked


@pytest.fixture
def blobs(cache):
    return Blobs(cache)


async def test_a_blob_comes_back(blobs):
    ptx = b".version 8.8\n.target sm_90a\n" * 100

    digest = await blobs.put(ptx)

    assert digest == digest_of(ptx)
    assert await blobs.exists(digest)
    assert await blobs.get(digest) == ptx
    frame = await blobs.get_frame(digest)
    assert zstandard.decompress(frame) == ptx
    assert len(frame) < len(ptx) / 10


async def test_many_blobs_are_put_at_once(blobs):
    parts = [b"ttir", b"", os.urandom(1000), b"ttir"]

    digests = await blobs.put_many(parts)

    assert [await blobs.get(digest) for digest in digests] == parts
    assert digests[0] == digests[3]


async def test_an_unknown_blob_is_none(blobs):
    assert await blobs.get(digest_of(b"never put")) is None
    assert await blobs.get_frame(digest_of(b"never put")) is None
    assert not await blobs.exists(digest_of(b"never put"))


@pytest.mark.parametrize(
    "damaged",
    [
        pytest.param(zstandard.compress(b"other bytes"), id="bytes of another blob"),
        pytest.param(b"not zstd at all", id="no frame"),
        pytest.param(zstandard.compress(b"x" * 5000)[:-4], id="cut off"),
        pytest.param(
            b"\x28\xb5\x2f\xfd\xc0\x00" + (2**60).to_bytes(8, "little") + b"\x01\x00\x00",
            id="claims to be enormous",
        ),
    ],
)
async def test_a_damaged_blob_is_deleted_and_counted(blobs, cache, damaged):
    digest = await blobs.put(b"good bytes")
    await cache.set(f"tritond:blob:{digest}", damaged)

    assert await blobs.get(digest) is None

    assert blobs.mismatches == 1
    assert not await blobs.exists(digest)


async def test_putting_a_blob_again_repairs_it(blobs, cache):
    digest = await blobs.put(b"good bytes")
    await cache.set(f"tritond:blob:{digest}", b"damaged")

    await blobs.put(b"good bytes")

    assert await blobs.get(digest) == b"good bytes"


async def test_a_blob_is_read_by_digest_in_the_namespaces_that_made_it(blobs):
    digest = await blobs.put(b"made by a team")
    assert not await blobs.may_read(digest, "team")

    await blobs.allow([digest], "team")

    assert await blobs.may_read(digest, "team")
    assert not await blobs.may_read(digest, "")
    assert not await blobs.may_read(digest, "other")


async def test_permissions_of_a_blob_end_with_it(cache):
    budget = Budget(cache, 0)
    blobs = Blobs(cache, budget)
    digest = await blobs.put(b"evicted")
    await blobs.allow([digest], "team")

    await budget.sweep()

    assert not await cache.exists(keys.BLOB_READERS + digest)
    await blobs.put(b"evicted")
    assert not await blobs.may_read(digest, "team")


async def test_a_blob_that_comes_in_parts_is_the_same(blobs: Blobs) -> None:
    data = bytes(range(256)) * 10_000
    blob = ArrivingBlob(len(data))
    for start in range(0, len(data), 60_000):
        await blob.add(data[start : start + 60_000])
    digest = await blob.finish()

    await blobs.put_frame(digest, blob.frame)

    assert digest == digest_of(data)
    assert await blobs.get(digest) == data


@pytest.mark.parametrize("came", [b"", b"1234", b"123456"])
async def test_a_blob_that_is_shorter_or_longer_than_it_says_is_refused(came: bytes) -> None:
    blob = ArrivingBlob(5)
    await blob.add(came)

    with pytest.raises(ValueError, match=f"{len(came)} of 5 bytes arrived"):
        await blob.finish()


async def test_an_empty_blob_may_come_in_parts() -> None:
    assert await ArrivingBlob(0).finish() == digest_of(b"")


async def test_what_came_of_a_blob_is_kept_as_its_frame_alone() -> None:
    size_bytes = 32 << 20
    tracemalloc.start()
    blob = ArrivingBlob(size_bytes)
    for _ in range(size_bytes >> 16):
        await blob.add(bytes(1 << 16))
    await blob.finish()
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak_bytes < 8 << 20


async def test_a_large_blob_goes_to_the_cache_and_back_in_pieces(blobs: Blobs, cache) -> None:
    data = os.urandom(3 * SENT_BYTES + 5)

    digest = await blobs.put(data)

    assert await blobs.get(digest) == data
    assert 0 < await cache.ttl(keys.BLOB + digest) <= LIFE_S
    assert [name async for name in cache.scan_iter("*:arriving:*")] == []


async def test_a_large_blob_in_a_cache_with_books_expires_never(cache) -> None:
    blobs = Blobs(cache, Budget(cache, 64 << 20))

    digest = await blobs.put(os.urandom(SENT_BYTES + 5))

    assert await cache.ttl(keys.BLOB + digest) == -1


@pytest.mark.parametrize("size", [SENT_BYTES - 1, SENT_BYTES, SENT_BYTES + 1, 2 * SENT_BYTES])
async def test_a_frame_of_any_size_comes_back(blobs: Blobs, cache, size: int) -> None:
    frame = os.urandom(size)
    await cache.set(keys.BLOB + "any", frame)

    assert await blobs.get_frame("any") == frame


@pytest.mark.parametrize("size", [0, 10, 700_000])
async def test_parts_have_the_digest_of_what_they_are_together(size: int) -> None:
    parts = [os.urandom(size) for _ in range(4)]

    assert await digested(*parts) == digest_of(b"".join(parts))


async def test_a_large_blob_is_hashed_packed_and_unpacked_beside_the_event_loop() -> None:
    data = os.urandom(1 << 20) * 16
    own_s, all_s = time.thread_time(), time.process_time()

    digest, frame = await packed(data)
    assert await digested(data) == digest
    assert await unpacked(bytes(frame), digest) == data

    own_s, all_s = time.thread_time() - own_s, time.process_time() - all_s
    assert own_s < all_s / 2
