"""The records of successful compilations, and of results on the way to them, by key.

Failures are results of jobs and never come here.
"""

from collections.abc import Mapping, Sequence
from typing import Final, cast

from store import keys
from store.blobs import LIFE_S, Blobs
from store.frames import decompressed, packed
from store.records import Hit, Records

ALIASES_AT_ONCE: Final = 2_000


class Compilations(Records):
    """Compilations by compile key: a JSON record, the request that made it, and blobs by stage."""

    def __init__(self, blobs: Blobs) -> None:
        super().__init__(blobs, keys.COMPILATION)
        self._aliases: dict[str, bytes] = {}

    async def write(
        self, key: str, record: bytes, request: bytes, blobs: Mapping[str, str]
    ) -> None:
        """Store a compilation whose `blobs` (digest by stage) were all put before."""
        _, frame = await packed(request)
        await self._write(key, record, blobs, {"request": bytes(frame)})

    async def hit_of_alias(
        self, request_digest: str, *, limit_bytes: int | None = None
    ) -> Hit | None:
        """Return what a request asks for that some service has read before, in one round trip.

        Raises IncludedTooLarge as `hit` does.
        """
        status, *parts = await self._reads.read(keys.REQUEST_ALIAS + request_digest, ())
        return await self._whole(parts, limit_bytes) if status == b"hit" else None

    def note_alias(self, request_digest: str, key: str, include: Sequence[str]) -> None:
        """Note the key and stages of a request, so that no service reads it again; see `flush`."""
        if len(self._aliases) < ALIASES_AT_ONCE:  # beyond that some are read once more
            self._aliases[keys.REQUEST_ALIAS + request_digest] = " ".join((key, *include)).encode()

    async def flush(self) -> None:
        """Write the noted aliases; call it every few seconds."""
        aliases, self._aliases = self._aliases, {}
        if not aliases:
            return
        if self._budget:
            await self._budget.account({name: len(value) for name, value in aliases.items()})
        pipeline = self._cache.pipeline(transaction=False)
        for name, value in aliases.items():
            pipeline.set(name, value, ex=None if self._budget else LIFE_S)
        await pipeline.execute()

    async def request(self, key: str) -> bytes | None:
        """Return the request that made the compilation."""
        frame = cast("bytes | None", await self._cache.hget(self._prefix + key, "request"))
        return None if frame is None else await decompressed(frame)


class Derived(Records):
    """The results of one `level`, such as "front" or "back": small values that name blobs."""

    def __init__(self, blobs: Blobs, level: str) -> None:
        super().__init__(blobs, keys.derived_prefix(level))

    async def write(self, key: str, value: bytes, blobs: Mapping[str, str]) -> None:
        """Store `value`, whose `blobs` (digest by name) were all put before."""
        await self._write(key, value, blobs, {})
