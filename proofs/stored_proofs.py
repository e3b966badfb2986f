"""The owners of proofs, stored with their jobs. A proof is shown to its caller only."""

from dataclasses import dataclass
from typing import Any, Final

from redis.asyncio import Redis

from store.keys import owner_prefix
from store.launches import LIFE_S

_PREFIX: Final = owner_prefix("proof")


@dataclass(frozen=True, slots=True)
class StoredProof:
    """A proof of `caller`."""

    caller: str


class Proofs:
    """The proofs of all callers, each kept for `LIFE_S`."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def create(self, proof_id: str, caller: str) -> None:
        """Note whose proof it is, once its job is submitted."""
        await self._redis.set(_PREFIX + proof_id, caller, ex=LIFE_S)

    async def find(self, proof_id: str, caller: str) -> StoredProof | None:
        """Return the proof, None when there is none or it belongs to another caller."""
        owner: Any = await self._redis.get(_PREFIX + proof_id)
        if owner is None or owner.decode() != caller:
            return None
        return StoredProof(caller)
