"""Uploaded tensors: what `Client.tensors` and `AsyncClient.tensors` offer."""

from tritonc import launching
from tritonc.async_connection import AsyncConnection
from tritonc.connection import Connection
from tritonc.upload import Upload


class Tensors:
    """The caller's tensors, each under the digest of its .npy file.

    Launches upload by themselves what they are given and the service lacks; this is for looking
    after what is there.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def put(self, upload: Upload) -> str:
        """Upload what `array` returned, and return its digest."""
        return self._connection.hold(launching.put(upload))

    def get(self, digest: str) -> bytes:
        """Return the .npy file."""
        return self._connection.hold(launching.tensor(digest))

    def has(self, digest: str) -> bool:
        """Return whether it is there."""
        return self._connection.hold(launching.has(digest))

    def delete(self, digest: str) -> None:
        """Delete it. Raises ProblemError (404) when it is not there."""
        self._connection.hold(launching.delete(digest))


class AsyncTensors:
    """`Tensors` for asyncio."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def put(self, upload: Upload) -> str:
        """Upload a tensor, as `Tensors.put` does."""
        return await self._connection.hold(launching.put(upload))

    async def get(self, digest: str) -> bytes:
        """Return the .npy file."""
        return await self._connection.hold(launching.tensor(digest))

    async def has(self, digest: str) -> bool:
        """Return whether it is there."""
        return await self._connection.hold(launching.has(digest))

    async def delete(self, digest: str) -> None:
        """Delete it, as `Tensors.delete` does."""
        await self._connection.hold(launching.delete(digest))
