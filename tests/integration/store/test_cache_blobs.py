"""Blobs: bytes by digest, verified on every read."""

import os

import pytest
import zstandard

from store import keys
from store.blobs import Blobs, digest_of
from store.budget import Budget


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


async def test_who_might_read_a_blob_is_forgotten_with_it(cache):
    budget = Budget(cache, 0)
    blobs = Blobs(cache, budget)
    digest = await blobs.put(b"evicted")
    await blobs.allow([digest], "team")

    await budget.sweep()

    assert not await cache.exists(keys.BLOB_READERS + digest)
    await blobs.put(b"evicted")
    assert not await blobs.may_read(digest, "team")
