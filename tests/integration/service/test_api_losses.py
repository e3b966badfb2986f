"""Lost or damaged blobs are made again."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from store import keys
from store.connection import connect
from tests.integration.service import bodies
from tests.integration.service.conftest import Post
from tests.integration.service.running import Deployment


async def delete_blob(redis_url: str, digest: str) -> None:
    async with connect(redis_url) as redis:
        assert await redis.delete(keys.BLOB + digest) == 1


@pytest.mark.parametrize("hits", [0, 2], ids=["fresh", "remembered"])
def test_a_lost_blob_is_made_again(
    system: Deployment, post: Post, http: httpx.Client, hits: int
) -> None:
    """Even if the service still has the answer in memory."""
    body = bodies.vector_add(f"its blob is lost after {hits} hits")
    made = post(body).json()
    for _ in range(hits):
        post(body)
    url, digest = made["artifacts"]["ptx"]["url"], made["artifacts"]["ptx"]["digest"]
    asyncio.run(delete_blob(system.redis_url, digest))

    gone = http.get(url)
    again = post(body)

    assert (gone.status_code, gone.json()["slug"]) == (410, "evicted")
    assert again.headers["cache-status"] == "tritond; fwd=miss"
    assert again.json()["artifacts"]["ptx"]["digest"] == digest
    assert http.get(url).status_code == 200


def test_a_lost_blob_that_is_to_be_included_is_made_again(system: Deployment, post: Post) -> None:
    body = bodies.vector_add("its included blob is lost", include=["ptx"])
    made = post(body).json()
    asyncio.run(delete_blob(system.redis_url, made["artifacts"]["ptx"]["digest"]))

    again = post(body).json()

    assert (again["state"], again["cache"]) == ("succeeded", "miss")
    assert again["included"] == made["included"]


def test_a_damaged_blob_is_made_again(system: Deployment, post: Post, http: httpx.Client) -> None:
    body = bodies.vector_add("its blob is damaged", include=["ptx"])
    made = post(body).json()
    asyncio.run(damage_blob(system.redis_url, made["artifacts"]["ptx"]["digest"]))

    again = post(body).json()

    assert again["included"] == made["included"]
    assert http.get(made["artifacts"]["ptx"]["url"]).text == made["included"]["ptx"]


async def damage_blob(redis_url: str, digest: str) -> None:
    async with connect(redis_url) as redis:
        assert await redis.set(keys.BLOB + digest, b"rust", xx=True)
