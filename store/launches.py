"""What is known of a launch beside its job: whose it is, where its outputs are.

The job and its result are the job protocol's. A launch is only ever shown to its caller.
"""

from dataclasses import dataclass
from typing import Any, Final

import orjson
from redis.asyncio import Redis

from store import keys

LIFE_S: Final = 24 * 3600
"""How long a launch, its result and its outputs' names are kept."""


@dataclass(frozen=True, slots=True)
class StoredLaunch:
    """A launch of `caller`; `outputs` are blob digests by "<case>/<argument>" once it is over.

    The trace of a case is called "<case>/".
    """

    caller: str
    outputs: dict[str, str]


class Launches:
    """The launches of all callers."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def create(self, launch_id: str, caller: str) -> None:
        """Note whose launch it is, once its job is submitted."""
        pipeline = self._redis.pipeline(transaction=True)
        pipeline.hset(keys.LAUNCH + launch_id, "caller", caller)
        pipeline.expire(keys.LAUNCH + launch_id, LIFE_S)
        await pipeline.execute()

    async def find(self, launch_id: str, caller: str) -> StoredLaunch | None:
        """Return the launch, None when there is none or it is somebody else's."""
        found: Any = await self._redis.hmget(keys.LAUNCH + launch_id, "caller", "outputs")
        owner, outputs = found
        if owner is None or owner.decode() != caller:
            return None
        return StoredLaunch(caller, orjson.loads(outputs) if outputs else {})

    async def keep_outputs(self, launch_id: str, outputs: dict[str, str]) -> None:
        """Note where the outputs of a launch are, before it is finished."""
        pipeline = self._redis.pipeline(transaction=True)
        pipeline.hset(keys.LAUNCH + launch_id, "outputs", orjson.dumps(outputs))
        pipeline.expire(keys.LAUNCH + launch_id, LIFE_S)
        await pipeline.execute()
