"""One embedded Valkey for all integration tests; every test finds it empty."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from store.connection import StoreClient, connect, connect_blocking
from store.embedded import EmbeddedValkey


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedValkey]:
    server = EmbeddedValkey(tmp_path_factory.mktemp("data"))
    asyncio.run(server.start())
    yield server
    asyncio.run(server.stop())


@pytest.fixture
async def redis(valkey: EmbeddedValkey) -> AsyncIterator[StoreClient]:
    client = connect(valkey.url)
    await client.flushall()
    yield client
    await client.aclose()


@pytest.fixture
async def blocking(valkey: EmbeddedValkey) -> AsyncIterator[StoreClient]:
    client = connect_blocking(valkey.url)
    yield client
    await client.aclose()


@pytest.fixture
async def cache(redis: StoreClient) -> StoreClient:
    """Return the same server, as in the default deployment."""
    return redis
