"""Launches, uploaded tensors and idempotency keys: private to their caller, for a day."""

import asyncio

import pytest

from store import keys
from store.blobs import Blobs
from store.connection import StoreClient
from store.frames import ArrivingBlob, digest_of
from store.launches import LIFE_S, Idempotency, Launches
from store.tensors import TensorQuotaExceeded, Tensors

LIMIT_BYTES = 100


@pytest.fixture
def tensors(redis: StoreClient, cache: StoreClient) -> Tensors:
    return Tensors(redis, Blobs(cache), LIMIT_BYTES)


async def test_a_launch_is_only_its_callers(redis: StoreClient) -> None:
    launches = Launches(redis)
    await launches.create("launch", "alice")

    mine, others = await launches.find("launch", "alice"), await launches.find("launch", "bob")

    assert mine is not None
    assert mine.outputs == {}
    assert others is None
    assert await launches.find("no launch", "alice") is None


async def test_outputs_are_found_once_they_are_noted(redis: StoreClient) -> None:
    launches = Launches(redis)
    await launches.create("launch", "alice")
    await launches.keep_outputs("launch", {"0/out_ptr": "sha256:1"})

    found = await launches.find("launch", "alice")

    assert found is not None
    assert found.outputs == {"0/out_ptr": "sha256:1"}


async def test_outputs_may_be_noted_before_the_launch_is(redis: StoreClient) -> None:
    launches = Launches(redis)
    await launches.keep_outputs("launch", {"0/out_ptr": "sha256:1"})

    assert await launches.find("launch", "alice") is None
    await launches.create("launch", "alice")
    assert await launches.find("launch", "alice") is not None


async def test_what_is_known_of_a_launch_is_forgotten_after_a_day(redis: StoreClient) -> None:
    await Launches(redis).create("launch", "alice")

    assert 0 < await redis.ttl(keys.LAUNCH + "launch") <= LIFE_S


async def put(tensors: Tensors, caller: str, data: bytes) -> tuple[str, bool]:
    blob = ArrivingBlob(len(data))
    await blob.add(data)
    digest = await blob.finish()
    return digest, await tensors.put(caller, digest, blob)


async def test_a_tensor_is_kept_and_new_only_once(tensors: Tensors) -> None:
    digest, is_new = await put(tensors, "alice", b"elements")

    assert (digest, is_new) == (digest_of(b"elements"), True)
    assert await put(tensors, "alice", b"elements") == (digest, False)
    assert await tensors.size("alice", digest) == 8


async def test_a_tensor_is_only_its_callers(tensors: Tensors) -> None:
    digest, _ = await put(tensors, "alice", b"elements")

    assert not await tensors.has("bob", digest)
    assert not await tensors.delete("bob", digest)
    assert await put(tensors, "bob", b"elements") == (digest, True)
    assert await tensors.delete("bob", digest)
    assert await tensors.has("alice", digest)


async def test_a_tensor_that_the_cache_evicted_is_gone_and_new_again(
    tensors: Tensors, cache: StoreClient
) -> None:
    digest, _ = await put(tensors, "alice", b"elements")
    await cache.delete(keys.BLOB + digest)

    assert not await tensors.has("alice", digest)
    assert await put(tensors, "alice", b"elements") == (digest, True)


async def test_a_callers_tensors_have_a_limit_together(tensors: Tensors) -> None:
    first, _ = await put(tensors, "alice", b"x" * 60)

    with pytest.raises(TensorQuotaExceeded) as refused:
        await put(tensors, "alice", b"y" * 60)

    assert refused.value.limit_bytes == LIMIT_BYTES
    assert not await tensors.has("alice", digest_of(b"y" * 60))
    await put(tensors, "bob", b"y" * 60)
    await put(tensors, "alice", b"x" * 60)
    await tensors.delete("alice", first)
    await put(tensors, "alice", b"y" * 60)


async def test_a_tensor_that_expired_does_not_count(tensors: Tensors, redis: StoreClient) -> None:
    digest, _ = await put(tensors, "alice", b"x" * 60)
    await redis.delete(f"{keys.TENSOR}alice:{digest}")

    await put(tensors, "alice", b"y" * 60)

    assert await tensors.has("alice", digest_of(b"y" * 60))


async def test_uploads_that_come_together_share_the_limit(tensors: Tensors) -> None:
    uploads = [put(tensors, "alice", bytes([number]) * 60) for number in range(10)]

    results = await asyncio.gather(*uploads, return_exceptions=True)

    taken = [result for result in results if not isinstance(result, BaseException)]
    assert len(taken) <= 1
    assert all(isinstance(result, tuple | TensorQuotaExceeded) for result in results)


async def test_a_key_stands_for_its_first_use(redis: StoreClient) -> None:
    idempotency = Idempotency(redis)
    first = await idempotency.claim("alice", "key", "launch 1", "digest of a body")

    again = await idempotency.claim("alice", "key", "launch 2", "digest of a body")

    assert first.job_id == again.job_id == "launch 1"
    assert again.body_digest == "digest of a body"


async def test_a_key_is_only_its_callers(redis: StoreClient) -> None:
    idempotency = Idempotency(redis)
    await idempotency.claim("alice", "key", "launch 1", "digest of a body")

    assert (
        await idempotency.claim("bob", "key", "launch 2", "digest of a body")
    ).job_id == "launch 2"


async def test_a_released_key_can_be_used_again(redis: StoreClient) -> None:
    idempotency = Idempotency(redis)
    await idempotency.claim("alice", "key", "launch 1", "digest of a wrong body")

    await idempotency.release("alice", "key")

    mended = await idempotency.claim("alice", "key", "launch 2", "digest of a body")
    assert mended.job_id == "launch 2"
