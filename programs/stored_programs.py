"""Data of programs, stored with their jobs: owners, and where their tapes are.

A program is shown to its caller only. The job and its result are the job protocol's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from redis.asyncio import Redis

from store import keys, scripts
from store.launches import LIFE_S
from store.stored import read_stored


@dataclass(frozen=True, slots=True)
class StoredProgram:
    """A program of `caller`; `tapes` are blob digests by whose they are, once it is recorded.

    `receipt` is the digest of the worker's part of its receipt, once it is judged.
    """

    caller: str
    tapes: Mapping[str, str]
    receipt: str | None = None


class Programs:
    """The programs of all callers, each kept for `LIFE_S`."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._set_fields = scripts.load(redis, "set_fields")

    async def create(self, program_id: str, caller: str) -> None:
        """Note whose program it is, once its job is submitted."""
        await self._set(program_id, "caller", caller)

    async def find(self, program_id: str, caller: str) -> StoredProgram | None:
        """Return the program, None when there is none or it belongs to another caller."""
        fields: Any = await self._redis.hmget(
            keys.PROGRAM + program_id, "caller", "tapes", "receipt"
        )
        owner, tapes, receipt = fields
        if owner is None or owner.decode() != caller:
            return None
        kept = read_stored(dict[str, str], tapes) if tapes else {}
        return StoredProgram(caller, kept, receipt.decode() if receipt else None)

    async def keep_tapes(self, program_id: str, tapes: Mapping[str, str]) -> None:
        """Note where the tapes of a program are, by whose: `candidate` and `reference`."""
        await self._set(program_id, "tapes", orjson.dumps(dict(tapes)))

    async def keep_receipt(self, program_id: str, digest: str) -> None:
        """Note where the worker's part of a program's receipt is."""
        await self._set(program_id, "receipt", digest)

    async def _set(self, program_id: str, name: str, value: str | bytes) -> None:
        await self._set_fields(args=[keys.PROGRAM + program_id, LIFE_S, name, value])
