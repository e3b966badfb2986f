"""One running deployment for all tests of the API, and what they ask it with."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Protocol

import httpx
import pytest

from store.connection import connect
from store.workers import Toolchains
from tests.integration.api.running import Deployment

ADMIN_KEY = "tritond_a-first-key-for-the-tests"


class Post(Protocol):
    def __call__(self, body: dict[str, Any], wait: float = 60, **headers: str) -> httpx.Response:
        """Post a compile request."""
        ...


@pytest.fixture(scope="session")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Store, service and one worker with two slots; whatever the tests do, none of them fails."""
    deployment = Deployment(tmp_path_factory.mktemp("system"))
    deployment.start_store()
    deployment.start_service()
    deployment.start_worker()
    deployment.wait_for_workers()
    yield deployment
    said = deployment.said()
    deployment.stop()
    assert "unexpected error" not in said
    assert "Traceback" not in said, said


@pytest.fixture(scope="session")
def http(system: Deployment) -> Iterator[httpx.Client]:
    with system.client() as client:
        yield client


@pytest.fixture(scope="session")
def post(http: httpx.Client) -> Post:
    def post(body: dict[str, Any], wait: float = 60, **headers: str) -> httpx.Response:
        return http.post("/v1/compilations", params={"wait": wait}, json=body, headers=headers)

    return post


@pytest.fixture(scope="session")
def idle(system: Deployment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A service with API keys and a known toolchain, but no worker: jobs stay in its queue."""
    deployment = Deployment(
        tmp_path_factory.mktemp("idle"),
        TRITOND_ADMIN_KEY=ADMIN_KEY,
        TRITOND_MAX_QUEUE_LENGTH="6",
        TRITOND_MAX_QUEUED_PER_CALLER="4",
    )
    deployment.start_store()
    asyncio.run(copy_toolchains(system.redis_url, deployment.redis_url))
    deployment.start_service()
    yield deployment
    said = deployment.said()
    deployment.stop()
    assert "Traceback" not in said, said


async def copy_toolchains(source_url: str, target_url: str) -> None:
    async with connect(source_url) as source, connect(target_url) as target:
        for toolchain_id, description in (await Toolchains(source).list()).items():
            await Toolchains(target).offer(toolchain_id, description)
