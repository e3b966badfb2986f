"""Blobs on another S3 server, which can lose objects and deny access."""

import os

import httpx
import pytest

from store.blobs import LARGE_BYTES, Blobs
from store.bucket import Bucket
from store.errors import BucketUnavailable
from store.frames import digest_of

LARGE = os.urandom(2 * LARGE_BYTES)
DIGEST = digest_of(LARGE)


@pytest.fixture
def blobs(moto, cache, credentials, monkeypatch):
    httpx.put(f"{moto.url}/bucket").raise_for_status()
    monkeypatch.setenv("AWS_ENDPOINT_URL", moto.url)
    yield Blobs(cache, bucket=Bucket("s3://bucket/prefix"))
    httpx.post(f"{moto.url}/moto-api/reset").raise_for_status()


async def test_a_blob_is_put_got_and_put_again(blobs):
    for _ in range(2):
        assert await blobs.put(LARGE) == DIGEST
        assert await blobs.get(DIGEST) == LARGE


async def test_an_object_that_a_rule_deleted_is_a_miss(blobs, moto):
    await blobs.put(LARGE)
    await blobs.bucket.delete([DIGEST])

    assert await blobs.get(DIGEST) is None

    assert not await blobs.exists(DIGEST)


async def test_a_bucket_that_is_deleted_is_an_outage(blobs, moto):
    await blobs.put(LARGE)
    httpx.post(f"{moto.url}/moto-api/reset").raise_for_status()

    with pytest.raises(BucketUnavailable):
        await blobs.get(DIGEST)

    assert await blobs.exists(DIGEST)


async def test_what_a_policy_forbids_is_an_outage(blobs, moto):
    await blobs.put(LARGE)
    allowed = httpx.post(f"{moto.url}/moto-api/reset-auth", content=b"0")
    allowed.raise_for_status()
    try:
        with pytest.raises(BucketUnavailable):
            await blobs.get(DIGEST)
        await blobs.put(LARGE)
    finally:
        httpx.post(f"{moto.url}/moto-api/reset-auth", content=b"1000000").raise_for_status()

    assert await blobs.get(DIGEST) == LARGE
