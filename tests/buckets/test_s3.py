"""Blobs on S3: their objects, and failures of servers and networks."""

import os

import pytest
import zstandard

from store import bucket as buckets
from store import keys
from store.blobs import LARGE_BYTES, Blobs
from store.bucket import FAILURES_TO_OPEN, Bucket, path_of
from store.bucket_sweep import delete_forgotten, find_forgotten
from store.errors import BucketUnavailable
from store.frames import digest_of
from tests.waiting import comes_true

LARGE = os.urandom(4 * LARGE_BYTES)
DIGEST = digest_of(LARGE)


@pytest.fixture
def blobs(cache, bucket):
    return Blobs(cache, bucket=bucket)


@pytest.fixture
def short(monkeypatch):
    """Use short deadlines, to keep these tests short."""
    monkeypatch.setattr(buckets, "ANSWER_S", 0.3)
    monkeypatch.setattr(buckets, "OPEN_S", 0.3)


async def test_a_blob_is_put_got_and_put_again(blobs, rclone):
    assert await blobs.put(LARGE) == DIGEST

    served = rclone.folder / "bucket" / "prefix" / path_of(DIGEST)
    assert zstandard.decompress(served.read_bytes()) == LARGE
    assert await blobs.get(DIGEST) == LARGE
    assert await blobs.put(LARGE) == DIGEST
    assert await blobs.get(DIGEST) == LARGE


async def test_many_blobs_at_once(blobs):
    parts = [LARGE + bytes([n]) for n in range(100)]

    digests = await blobs.put_many(parts)

    assert [await blobs.get(digest) for digest in digests] == parts


async def test_no_request_is_conditional(blobs, proxy):
    await blobs.put(LARGE)
    await blobs.get(DIGEST)
    await blobs.put(LARGE)

    assert len(proxy.heads) == 3
    assert [head for head in proxy.heads if "\nif-" in head.lower()] == []


async def test_an_object_that_is_not_there_is_a_miss(blobs, bucket, cache):
    await blobs.put(LARGE)
    await bucket.delete([DIGEST])

    assert await blobs.get(DIGEST) is None

    assert not await blobs.exists(DIGEST)
    assert bucket.failures == 0


async def test_a_damaged_answer_is_a_miss(blobs, proxy):
    await blobs.put(LARGE)
    proxy.fault = "damaged"

    assert await blobs.get(DIGEST) is None

    assert blobs.mismatches == 1


@pytest.mark.parametrize("fault", ["refused", "silent", "503", "cut off", "trickling"])
async def test_a_read_that_fails_is_no_miss_and_works_later(blobs, proxy, short, fault):
    await blobs.put(LARGE)
    proxy.fault = fault

    with pytest.raises(BucketUnavailable):
        await blobs.get(DIGEST)

    proxy.fault = "none"
    assert await blobs.get(DIGEST) == LARGE


@pytest.mark.parametrize("fault", ["refused", "silent", "503"])
async def test_a_write_that_fails_goes_to_the_cache(blobs, cache, proxy, short, fault):
    proxy.fault = fault

    await blobs.put(LARGE)

    assert await cache.strlen(keys.BLOB + DIGEST) > LARGE_BYTES
    assert await blobs.get(DIGEST) == LARGE


async def test_a_write_that_fails_leaves_no_object(blobs, bucket, proxy, rclone, short):
    data = os.urandom(4 << 20)
    proxy.fault = "silent"
    await blobs.put(data)

    proxy.fault = "none"
    assert await bucket.get(digest_of(data), 1 << 30) is None


async def test_after_failures_in_a_row_no_request_is_made(blobs, bucket, proxy, monkeypatch):
    monkeypatch.setattr(buckets, "OPEN_S", 3600)
    await blobs.put(LARGE)
    proxy.fault = "refused"
    for _ in range(FAILURES_TO_OPEN):
        with pytest.raises(BucketUnavailable):
            await blobs.get(DIGEST)
    assert bucket.state()["circuit"] == "open"
    made = len(proxy.heads)

    with pytest.raises(BucketUnavailable):
        await blobs.get(DIGEST)
    await blobs.put(LARGE + b"more")

    assert len(proxy.heads) == made


async def test_a_circuit_closes_when_the_server_is_back(blobs, bucket, proxy, short):
    await blobs.put(LARGE)
    proxy.fault = "503"
    for _ in range(FAILURES_TO_OPEN):
        with pytest.raises(BucketUnavailable):
            await blobs.get(DIGEST)
    proxy.fault = "none"

    async def is_back():
        try:
            return await blobs.get(DIGEST)
        except BucketUnavailable:
            return None

    assert await comes_true(is_back) == LARGE
    assert bucket.state()["circuit"] == "closed"


async def test_wrong_credentials_are_an_outage(cache, proxy, bucket, monkeypatch):
    await Blobs(cache, bucket=bucket).put(LARGE)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
    blobs = Blobs(cache, bucket=Bucket("s3://bucket/prefix"))

    with pytest.raises(BucketUnavailable):
        await blobs.get(DIGEST)

    assert await blobs.exists(DIGEST)


async def test_a_bucket_that_does_not_exist_is_an_outage(cache, bucket):
    await Blobs(cache, bucket=bucket).put(LARGE)
    blobs = Blobs(cache, bucket=Bucket("s3://no-such-bucket/prefix"))

    with pytest.raises(BucketUnavailable):
        await blobs.get(DIGEST)
    await blobs.put(LARGE + b"new")

    assert await blobs.exists(DIGEST)
    assert await blobs.get(digest_of(LARGE + b"new")) == LARGE + b"new"


async def test_a_sweep_lists_and_deletes(rclone, credentials, cache, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", rclone.url)
    bucket = Bucket("s3://bucket/swept")
    blobs = Blobs(cache, bucket=bucket)
    digests = await blobs.put_many([LARGE + b"swept" + bytes([n]) for n in range(120)])
    await cache.delete(*(keys.BLOB + digest for digest in digests[20:]))

    found = await find_forgotten(blobs, bucket, older_than_s=-60)
    await delete_forgotten(bucket, found, even_all=False)

    assert set(digests[20:]) <= set(found.digests)
    assert not set(digests[:20]) & set(found.digests)
    assert await blobs.get(digests[0]) is not None
    assert await bucket.get(digests[20], 1 << 30) is None


async def test_a_server_that_is_killed_and_started_again(blobs, rclone, short):
    await blobs.put(LARGE)
    rclone.kill()
    try:
        with pytest.raises(BucketUnavailable):
            await blobs.get(DIGEST)
    finally:
        rclone.start()

    assert await blobs.get(DIGEST) == LARGE
