"""Launches by id: what `Client.launches` and `AsyncClient.launches` offer."""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from tritonc import launching
from tritonc.async_connection import AsyncConnection
from tritonc.connection import Connection
from tritonc.event import Event
from tritonc.launch import Launch


class Launches:
    """The caller's launches; those of others answer 404, as ones that are not there do."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self, launch_id: str, *, wait_s: float = 0) -> Launch:
        """Return a launch in its present state, or once it is over within `wait_s`."""
        return self._connection.hold(launching.get(launch_id, wait_s))

    def query(self, ids: Sequence[str], *, wait_s: float = 0) -> list[Launch]:
        """Return several in the order of `ids`, once all are over or `wait_s` is."""
        return self._connection.hold(launching.query(ids, wait_s))

    def cancel(self, launch_id: str) -> Launch:
        """End a launch that is not over."""
        return self._connection.hold(launching.cancel(launch_id))

    def events(self, launch_id: str, *, after: str | None = None) -> Iterator[Event]:
        """Yield what happens to a launch until it is over, through lost connections.

        `after` is the id of the last event known. Raises ServerUnavailable when the service cannot
        be reached several times in a row.
        """
        return self._connection.follow(launching.path_of(launch_id) + "/events", after)

    def output(self, launch_id: str, argument: str, *, case: int = 0) -> bytes:
        """Return the .npy file of an output that was asked for as `tensor`; bf16 and fp8 as bits.

        `numpy.load(io.BytesIO(...))` reads it.
        """
        return self._connection.hold(launching.output(launch_id, argument, case))

    def trace(self, launch_id: str, *, case: int = 0) -> dict[str, Any]:
        """Return the memory accesses of the programs that were to be traced."""
        return self._connection.hold(launching.trace(launch_id, case))


class AsyncLaunches:
    """`Launches` for asyncio."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def get(self, launch_id: str, *, wait_s: float = 0) -> Launch:
        """Return a launch, as `Launches.get` does."""
        return await self._connection.hold(launching.get(launch_id, wait_s))

    async def query(self, ids: Sequence[str], *, wait_s: float = 0) -> list[Launch]:
        """Return several launches, as `Launches.query` does."""
        return await self._connection.hold(launching.query(ids, wait_s))

    async def cancel(self, launch_id: str) -> Launch:
        """End a launch, as `Launches.cancel` does."""
        return await self._connection.hold(launching.cancel(launch_id))

    def events(self, launch_id: str, *, after: str | None = None) -> AsyncIterator[Event]:
        """Yield what happens to a launch, as `Launches.events` does."""
        return self._connection.follow(launching.path_of(launch_id) + "/events", after)

    async def output(self, launch_id: str, argument: str, *, case: int = 0) -> bytes:
        """Return an output, as `Launches.output` does."""
        return await self._connection.hold(launching.output(launch_id, argument, case))

    async def trace(self, launch_id: str, *, case: int = 0) -> dict[str, Any]:
        """Return a trace, as `Launches.trace` does."""
        return await self._connection.hold(launching.trace(launch_id, case))
