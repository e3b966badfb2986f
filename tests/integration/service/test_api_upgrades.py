"""A deployment whose toolchains change: what is remembered does not outlive what made it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import httpx
import pytest

from compiler.toolchain import Toolchain
from store.connection import connect
from store.workers import Toolchains, Worker, Workers
from tests.integration.service import bodies
from tests.integration.service.conftest import Post
from tests.integration.service.running import Deployment
from tests.waiting import wait_until

VERSION = "3.9.1"


async def offer(url: str, toolchain: Toolchain) -> None:
    async with connect(url) as redis:
        await Toolchains(redis).register(toolchain.id, toolchain.model_dump_json().encode())


async def serve(url: str, name: str) -> None:
    """Say that a worker has it, for as long as one heartbeat counts."""
    async with connect(url) as redis:
        await Workers(redis).beat(Worker("its worker", "compile", name, None, "standard", 1, 0))


async def become_default(url: str, name: str) -> None:
    async with connect(url) as redis:
        assert await Toolchains(redis).set_default(name)


async def forget(url: str, name: str) -> None:
    async with connect(url) as redis:
        await Toolchains(redis).forget(name)


def ids(http: httpx.Client) -> list[str]:
    return [toolchain["id"] for toolchain in http.get("/v1/targets").json()["toolchains"]]


@pytest.fixture
def other(system: Deployment, http: httpx.Client) -> Iterator[Toolchain]:
    """A newer toolchain that no worker serves; it is gone again after the test."""
    described = http.get("/v1/targets").json()["toolchains"][0]
    before = http.get("/v1/system").json()["default_toolchain"]
    toolchain = Toolchain.model_validate({**described, "id": "f" * 16, "triton": VERSION})
    yield toolchain
    asyncio.run(become_default(system.redis_url, before))
    asyncio.run(forget(system.redis_url, toolchain.id))
    wait_until(lambda: ids(http) == [before], "the service offers what it did before")


def test_another_default_answers_nothing_of_the_one_before(
    system: Deployment, http: httpx.Client, post: Post, other: Toolchain
) -> None:
    body = bodies.vector_add("before the upgrade")
    post(body)
    assert post(body).json()["cache"] == "hit"

    asyncio.run(offer(system.redis_url, other))
    asyncio.run(become_default(system.redis_url, other.id))
    wait_until(lambda: http.get("/v1/system").json()["default_toolchain"] == other.id, "upgraded")

    answer = post(body, wait=0)
    assert (answer.status_code, answer.json()["toolchain"]["id"]) == (202, other.id)
    http.delete(answer.headers["location"])


def test_a_version_that_comes_to_mean_another_toolchain_answers_nothing_of_the_one_before(
    system: Deployment, http: httpx.Client, post: Post, other: Toolchain
) -> None:
    """The version in the request is not the default's, which stays what it is."""
    served = http.get("/v1/system").json()["default_toolchain"]
    version = http.get("/v1/targets").json()["toolchains"][0]["triton"]
    asyncio.run(offer(system.redis_url, other))
    asyncio.run(become_default(system.redis_url, other.id))
    wait_until(lambda: http.get("/v1/system").json()["default_toolchain"] == other.id, "upgraded")
    body = bodies.vector_add("an older Triton") | {"triton": version}
    post(body)
    assert post(body).json()["cache"] == "hit"
    assert post(body).json()["toolchain"]["id"] == served

    newer = other.model_copy(update={"id": "e" * 16, "triton": version})
    asyncio.run(offer(system.redis_url, newer))
    asyncio.run(serve(system.redis_url, newer.id))
    wait_until(lambda: ids(http)[-1] == newer.id, "the newer one is known and served")
    answer = post(body, wait=0)
    asyncio.run(forget(system.redis_url, newer.id))

    assert (answer.status_code, answer.json()["toolchain"]["id"]) == (202, newer.id)
    http.delete(answer.headers["location"])
