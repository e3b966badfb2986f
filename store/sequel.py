"""What comes out of a job after its end: a record that knows more, and an event that says so.

For as long as something is expected, followers of the job's events stay. A sequel that never comes,
because its worker was lost, costs them the wait and nothing else.
"""

from collections.abc import Mapping
from typing import Any, Final

import orjson
from redis.asyncio import Redis

from store import keys, scripts

LIFE_MS: Final = 60_000


class Sequels:
    """The sequels of jobs that attempts of this process finish."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._tell = scripts.load(redis, "tell_sequel")

    async def expect(self, job_id: str, life_ms: int = LIFE_MS) -> None:
        """Have followers stay behind the end of a job, for `life_ms` at most. Before that end."""
        await self._redis.set(keys.SEQUEL + job_id, 1, px=life_ms)

    async def tell(
        self, job_id: str, token: int, record: bytes | None, kind: str, data: Mapping[str, Any]
    ) -> bool:
        """Append an event, put `record` in the place of the job's, and let followers go.

        Without a record that stays as it is. False: another attempt has finished the job, or it is
        not kept any more.
        """
        args: list[str | int | bytes] = [job_id, token, record or b"", kind, orjson.dumps(data)]
        return bool(await self._tell(args=args))
