"""What was derived is a cache like any other: what is lost is made again."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx

from store.connection import connect
from tests.integration.service import bodies
from tests.integration.service.conftest import Post
from tests.integration.service.derived.compiled import get
from tests.integration.service.running import Deployment


def new_compilation(post: Post, comment: str) -> dict[str, Any]:
    made: dict[str, Any] = post(bodies.vector_add(comment, options={"num_warps": 1})).json()
    assert made["state"] == "succeeded", made["problem"]
    return made


def lose_blob(system: Deployment, digest: str) -> None:
    async def lose() -> None:
        async with connect(system.redis_url) as redis:
            assert await redis.delete(f"tritond:blob:{digest}") == 1

    asyncio.run(lose())


def test_a_derivation_whose_blob_is_lost_is_made_again(
    system: Deployment, http: httpx.Client, post: Post
) -> None:
    compilation = new_compilation(post, "lost derivation")
    first = get(http, compilation, "lines")
    digest = first.headers["etag"].strip('"').removesuffix("-zstd")

    lose_blob(system, digest)
    again = get(http, compilation, "lines")

    assert again.status_code == 200
    assert again.json() == first.json()


def test_a_derivation_of_lost_artifacts_is_gone(
    system: Deployment, http: httpx.Client, post: Post
) -> None:
    compilation = new_compilation(post, "lost artifact")

    lose_blob(system, compilation["artifacts"]["cubin"]["digest"])
    answer = get(http, compilation, "artifacts/sass")

    assert (answer.status_code, answer.json()["slug"]) == (410, "evicted")
    assert post(bodies.vector_add("lost artifact", options={"num_warps": 1})).json()["state"] == (
        "succeeded"
    )
    assert get(http, compilation, "artifacts/sass").status_code == 200
