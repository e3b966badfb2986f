"""Batches: what `Client.batches` and `AsyncClient.batches` offer."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

from tritonc import batching
from tritonc.async_connection import AsyncConnection
from tritonc.batch import Batch
from tritonc.connection import Connection
from tritonc.event import Event
from tritonc.launch_request import LaunchRequest


class Batches:
    """Up to 1,000 requests posted together; one that is wrong is a problem of its own.

    A batch is posted once: if that gets no answer, ServerUnavailable is raised, though the service
    may have taken it.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def compile(
        self, requests: Sequence[Mapping[str, Any]], *, wait_s: float = 300, check: bool = True
    ) -> Batch:
        """Compile what `compile_request` wrote. Raises WaitExpired unless all end in time.

        With `check=False` the batch is returned in whatever state it then is.
        """
        return self._connection.hold(batching.compile_all(requests, wait_s, check))

    def launch(
        self,
        requests: Sequence[LaunchRequest | Mapping[str, Any]],
        *,
        wait_s: float = 300,
        check: bool = True,
    ) -> Batch:
        """Run what `launch_request` wrote. Raises WaitExpired unless all end in time.

        With `check=False` the batch is returned in whatever state it then is.
        """
        return self._connection.hold(batching.launch_all(requests, wait_s, check))

    def get(self, batch_id: str, *, wait_s: float = 0) -> Batch:
        """Return a batch in its present state, or once it is finished within `wait_s`."""
        return self._connection.hold(batching.get(batch_id, wait_s))

    def cancel(self, batch_id: str) -> Batch:
        """Cancel what is left of a batch."""
        return self._connection.hold(batching.cancel(batch_id))

    def events(self, batch_id: str, *, after: str | None = None) -> Iterator[Event]:
        """Yield an event for each item that ends, as `Launches.events` does."""
        return self._connection.follow(batching.path_of(batch_id) + "/events", after)


class AsyncBatches:
    """`Batches` for asyncio."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def compile(
        self, requests: Sequence[Mapping[str, Any]], *, wait_s: float = 300, check: bool = True
    ) -> Batch:
        """Compile many, as `Batches.compile` does."""
        return await self._connection.hold(batching.compile_all(requests, wait_s, check))

    async def launch(
        self,
        requests: Sequence[LaunchRequest | Mapping[str, Any]],
        *,
        wait_s: float = 300,
        check: bool = True,
    ) -> Batch:
        """Run many, as `Batches.launch` does."""
        return await self._connection.hold(batching.launch_all(requests, wait_s, check))

    async def get(self, batch_id: str, *, wait_s: float = 0) -> Batch:
        """Return a batch, as `Batches.get` does."""
        return await self._connection.hold(batching.get(batch_id, wait_s))

    async def cancel(self, batch_id: str) -> Batch:
        """Cancel what is left of a batch, as `Batches.cancel` does."""
        return await self._connection.hold(batching.cancel(batch_id))

    def events(self, batch_id: str, *, after: str | None = None) -> AsyncIterator[Event]:
        """Yield an event for each item that ends, as `Batches.events` does."""
        return self._connection.follow(batching.path_of(batch_id) + "/events", after)
