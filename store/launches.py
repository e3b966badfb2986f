"""Data of launches in addition to their jobs: owners, outputs, idempotency keys, amendments.

A launch is shown to its caller only. The job and its result are the job protocol's; an amendment is
a better record, and its event, which come after the end of a job.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
from redis.asyncio import Redis

from store import keys, scripts
from store.stored import read_stored

KEY_LIFE_S: Final = 24 * 3600
AMENDMENT_LIFE_MS: Final = 60_000
LIFE_S: Final = 24 * 3600
"""Lifetime of a launch, its result and the names of its outputs."""


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
        self._set_fields = scripts.load(redis, "set_fields")

    async def create(self, launch_id: str, caller: str, kernel: str | None = None) -> None:
        """Note whose launch it is, and of which kernel, once its job is submitted."""
        fields = ("caller", caller, "kernel", kernel or "")
        await self._set_fields(args=[keys.LAUNCH + launch_id, LIFE_S, *fields])

    async def find(self, launch_id: str, caller: str) -> StoredLaunch | None:
        """Return the launch, None when there is none or it is another caller's."""
        fields: Any = await self._redis.hmget(keys.LAUNCH + launch_id, "caller", "outputs")
        owner, outputs = fields
        if owner is None or owner.decode() != caller:
            return None
        return StoredLaunch(caller, read_stored(dict[str, str], outputs) if outputs else {})

    async def kernels(self, launch_ids: Sequence[str]) -> list[str | None]:
        """Return the kernel of each launch, None where its request named none."""
        pipeline = self._redis.pipeline(transaction=False)
        for launch_id in launch_ids:
            pipeline.hget(keys.LAUNCH + launch_id, "kernel")
        return [name.decode() if name else None for name in await pipeline.execute()]

    async def keep_outputs(self, launch_id: str, outputs: dict[str, str]) -> None:
        """Note where the outputs of a launch are, before it is finished."""
        fields = ("outputs", orjson.dumps(outputs))
        await self._set_fields(args=[keys.LAUNCH + launch_id, LIFE_S, *fields])


@dataclass(frozen=True, slots=True)
class FirstUse:
    """The first use of an idempotency key; `body_digest` is that of the body that it came with."""

    job_id: str
    body_digest: str


@dataclass(frozen=True, slots=True)
class _KeptUse:
    """A first use as it is stored; `launch_id` is that of any job."""

    launch_id: str
    body_digest: str


class Idempotency:
    """The idempotency keys of all callers."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def claim(self, caller: str, key: str, job_id: str, body_digest: str) -> FirstUse:
        """Use `key` for `job_id`, unless it was used before; return its first use."""
        value = orjson.dumps(_KeptUse(job_id, body_digest))
        first: Any = await self._redis.set(
            _name(caller, key), value, nx=True, get=True, ex=KEY_LIFE_S
        )
        use = read_stored(_KeptUse, first or value)
        return FirstUse(use.launch_id, use.body_digest)

    async def replace(self, caller: str, key: str, job_id: str, body_digest: str) -> None:
        """Make `key` the name of another job, as its own was joined to that one."""
        value = orjson.dumps(_KeptUse(job_id, body_digest))
        await self._redis.set(_name(caller, key), value, ex=KEY_LIFE_S)

    async def release(self, caller: str, key: str) -> None:
        """Forget `key`: its request was refused, and may be corrected."""
        await self._redis.delete(_name(caller, key))


def _name(caller: str, key: str) -> str:
    return f"{keys.IDEMPOTENCY}{caller}:{hashlib.sha256(key.encode()).hexdigest()}"


class Amendments:
    """Results that jobs deliver after their end, for attempts that this process finished.

    While one is expected, followers of the job's events stay. If it never arrives because its
    worker was lost, they only lose the wait.
    """

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._amend = scripts.load(redis, "amend", shared="lane")

    async def expect(self, job_id: str, life_ms: int = AMENDMENT_LIFE_MS) -> None:
        """Have followers stay behind the end of a job, for `life_ms` at most. Before that end."""
        await self._redis.set(keys.AMENDMENT + job_id, 1, px=life_ms)

    async def amend(
        self, job_id: str, token: int, record: bytes | None, kind: str, data: Mapping[str, Any]
    ) -> bool:
        """Append an event, put `record` in the place of the job's, and let followers go.

        Without a record that stays as it is. False: another attempt has finished the job, or it is
        not kept any more.
        """
        args: list[str | int | bytes] = [job_id, token, record or b"", kind, orjson.dumps(data)]
        return bool(await self._amend(args=args))
