"""Derived results are a cache: lost ones are made again."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

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


@pytest.mark.slow
def test_a_diff_is_made_again_while_what_it_is_of_is_there(
    system: Deployment, http: httpx.Client, post: Post
) -> None:
    a, b = new_compilation(post, "a lost diff"), new_compilation(post, "of two")
    path = f"diff/{b['key']}"
    first = get(http, a, path)
    sass = http.get(f"{b['url']}/artifacts/sass").headers["etag"].strip('"')

    for tag in (first.headers["etag"].strip('"'), sass):
        lose_blob(system, tag.removesuffix("-zstd"))
        assert get(http, a, path).json() == first.json()
    lose_blob(system, b["artifacts"]["ptx"]["digest"])
    lose_blob(system, first.headers["etag"].strip('"').removesuffix("-zstd"))
    gone = get(http, a, path)

    assert (gone.status_code, gone.json()["slug"]) == (410, "evicted")
    again = post(bodies.vector_add("of two", options={"num_warps": 1})).json()
    assert again["state"] == "succeeded"
    assert post(bodies.vector_add("a lost diff", options={"num_warps": 1})).json()["state"] == (
        "succeeded"
    )
    assert get(http, a, path).json() == first.json()
