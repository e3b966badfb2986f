"""A separate deployment whose parts these tests stop, and whose store they make refuse."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager

import httpx
import pytest

from store.connection import StoreClient, connect
from tests.integration.service.running import Deployment, Process
from tests.waiting import wait_until

LEASE_S = 2
Connect = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]
DRAIN_S = 4


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    settings = {
        "TRITOND_LEASE_S": LEASE_S,
        "TRITOND_DRAIN_S": DRAIN_S,
        "TRITOND_HEAD_TIMEOUT_S": 1,
        "TRITOND_BODY_TIMEOUT_S": 1,
        "TRITOND_MAX_CONNECTIONS": 60,
    }
    words = {name: str(value) for name, value in settings.items()}
    deployment = Deployment(tmp_path_factory.mktemp("machine"), **words)
    deployment.start_store()
    deployment.start_service()
    yield deployment
    deployment.stop()


@pytest.fixture
def worker(machine: Deployment, service: Process) -> Process:
    """Return the one worker; restart it if the previous test ended it."""
    machine.workers = [worker for worker in machine.workers if worker.still_runs()]
    if not machine.workers:
        machine.start_worker()
    wait_until(lambda: is_registered(machine, machine.workers[0]), "a worker", machine.said)
    return machine.workers[0]


@pytest.fixture
def service(machine: Deployment) -> Process:
    """Return the service; restart it if the previous test ended it."""
    if machine.service is None or not machine.service.still_runs():
        machine.start_service()
    assert machine.service is not None
    return machine.service


@pytest.fixture
async def operator(machine: Deployment) -> AsyncIterator[StoreClient]:
    """Return the connection that makes the store refuse; no other command uses it."""
    client = connect(machine.redis_url, max_connections=1)
    yield client
    await client.aclose()


@pytest.fixture
async def http(machine: Deployment, service: Process) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=machine.url, timeout=90) as client:
        yield client


def is_registered(machine: Deployment, worker: Process) -> bool:
    known = httpx.get(f"{machine.url}/v1/workers").json()["workers"]
    return any(f"-{worker.pid}-" in each["id"] for each in known)


@pytest.fixture
async def connect_to_service(machine: Deployment, service: Process) -> AsyncIterator[Connect]:
    """Return a function that opens raw connections to the service, and close them afterwards."""
    async with connections_to(machine) as connect:
        yield connect


@asynccontextmanager
async def connections_to(deployment: Deployment) -> AsyncIterator[Connect]:
    """Return a function that opens raw connections to a service, and close them afterwards."""
    port, opened = int(deployment.url.rpartition(":")[2]), []

    async def connect() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        opened.append(await asyncio.open_connection("127.0.0.1", port))
        return opened[-1]

    yield connect
    for _, writer in opened:
        writer.close()
        await asyncio.gather(writer.wait_closed(), return_exceptions=True)
