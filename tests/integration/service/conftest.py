"""Deployments with API keys, with and without a worker, and clients for them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from store.api_keys import ApiKeys
from store.connection import connect
from store.workers import Toolchains
from tests.integration.compiler.conftest import directly
from tests.integration.service.on_terminal import OnTerminal
from tests.integration.service.running import Deployment
from tests.integration.service.shared import Post

__all__ = ["Post", "directly"]  # of the fixture `post`, and a fixture

ADMIN_KEY = "tritond_a-first-key-for-the-tests"
SECRET_OF_BUCKET = "CANARY-of-the-bucket-51c0"


@pytest.fixture(scope="session")
def idle(system: Deployment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Yield a service with API keys and a known toolchain, but no worker: jobs stay queued."""
    folder = tmp_path_factory.mktemp("idle")
    quotas = {"TRITOND_MAX_QUEUE_LENGTH": "6", "TRITOND_MAX_QUEUED_PER_CALLER": "4"}
    with without_worker(system, folder, **quotas) as deployment:
        yield deployment


@pytest.fixture(scope="session")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that is the bucket of `with_keys`."""
    return tmp_path_factory.mktemp("bucket")


@pytest.fixture(scope="session")
def with_keys(tmp_path_factory: pytest.TempPathFactory, bucket: Path) -> Iterator[Deployment]:
    """Yield a service with API keys and a worker, whose large blobs are in a bucket."""
    settings = {
        "TRITOND_ADMIN_KEY": ADMIN_KEY,
        "TRITOND_BLOBS_URL": f"file://{bucket}",
        "TRITOND_MEMORY_CACHE_BYTES": "0",  # so that each blob comes from the bucket
        "AWS_SECRET_ACCESS_KEY": SECRET_OF_BUCKET,
        "GOOGLE_SERVICE_ACCOUNT_KEY": SECRET_OF_BUCKET,
        "TRITOND_LOG": "debug",
        "AZURE_STORAGE_ACCOUNT_KEY": SECRET_OF_BUCKET,
    }
    deployment = Deployment(tmp_path_factory.mktemp("with-keys"), **settings)
    deployment.start_store()
    deployment.start_service()
    deployment.start_worker()
    deployment.wait_for_workers()
    yield deployment
    said = deployment.said()
    deployment.stop()
    assert "Traceback" not in said, said


@pytest.fixture(scope="session")
def teams(with_keys: Deployment) -> Iterator[Callable[[str], httpx.Client]]:
    """Yield clients of the service with API keys and a worker for alice, bob and eve."""
    secrets = asyncio.run(make_keys(with_keys.redis_url))
    with ExitStack() as stack:
        clients = {
            name: stack.enter_context(with_keys.client(authorization=f"Bearer {secret}"))
            for name, secret in secrets.items()
        }
        yield clients.__getitem__


@contextmanager
def without_worker(system: Deployment, folder: Path, **settings: str) -> Iterator[Deployment]:
    """Yield a service with API keys that knows the toolchains of `system`, but has no worker."""
    deployment = Deployment(folder, TRITOND_ADMIN_KEY=ADMIN_KEY, **settings)
    deployment.start_store()
    asyncio.run(copy_toolchains(system.redis_url, deployment.redis_url))
    deployment.start_service()
    yield deployment
    deployment.stop()
    said = deployment.said()
    assert "Traceback" not in said, said
    assert re.search(r"INFO service: stopping; \d+ open requests have \S+ s\n", said)


@pytest.fixture(scope="session")
def keys(idle: Deployment) -> dict[str, str]:
    """Return secrets by name: two that may compile, one of another namespace, one that may not."""
    return asyncio.run(make_keys(idle.redis_url))


async def make_keys(redis_url: str) -> dict[str, str]:
    async with connect(redis_url) as redis:
        made = {
            "alice": await ApiKeys(redis).create("alice", ("compile",)),
            "bob": await ApiKeys(redis).create("bob", ("compile",)),
            "eve": await ApiKeys(redis).create("eve", ("compile",), namespace="elsewhere"),
            "runner": await ApiKeys(redis).create("runner", ("launch",)),
        }
    return {name: secret for name, (_, secret) in made.items()}


@pytest.fixture
def callers(idle: Deployment, keys: dict[str, str]) -> Iterator[dict[str, httpx.Client]]:
    """Yield a client for each key; then withdraw what they left in the queue."""
    secrets = keys | {"admin": ADMIN_KEY}
    with ExitStack() as stack:
        clients = {
            name: stack.enter_context(idle.client(authorization=f"Bearer {secret}"))
            for name, secret in secrets.items()
        }
        posted: list[str] = []
        for client in clients.values():
            client.event_hooks["response"] = [lambda answer: remember(answer, posted)]
        yield clients
        for url in posted:
            for client in clients.values():
                client.delete(url)


def remember(answer: httpx.Response, posted: list[str]) -> None:
    if answer.request.method == "POST" and answer.status_code == 202:
        posted.append(answer.headers["location"])


async def copy_toolchains(source_url: str, target_url: str) -> None:
    async with connect(source_url) as source, connect(target_url) as target:
        for toolchain_id, description in (await Toolchains(source).list()).items():
            await Toolchains(target).register(toolchain_id, description)


@pytest.fixture
def on_terminal(system: Deployment, tmp_path: Path) -> Iterator[Callable[..., OnTerminal]]:
    """Return a function that starts commands on terminals in a folder of this test."""
    started: list[OnTerminal] = []

    def start(*words: str, **environment: str) -> OnTerminal:
        started.append(OnTerminal(list(words), tmp_path, system.url, **environment))
        return started[-1]

    yield start
    for one in started:
        one.close()
