"""The workers of a deployment, the toolchains it knows, and counts that no process could keep.

Workers live by their heartbeat.

Toolchains stay known when their workers are gone, and the default one is a stored setting, so a
flapping worker changes no compile key.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal, cast

import orjson
from redis.asyncio import Redis

from store import keys, scripts
from store.connection import EssentialWrites
from store.stored import Unreadable, read_stored

logger = logging.getLogger(__name__)

HEARTBEAT_LIFE_S: Final = 15
TRIED_LIFE_S: Final = 24 * 3600


@dataclass(frozen=True, slots=True)
class Worker:
    """One worker process; `busy` of its `slots` are running something.

    `sandbox` is the level, `sandbox_report` the outcome of the self-test of its walls.
    """

    id: str
    kind: Literal["compile", "launch"]
    toolchain: str | None = None
    device: str | None = None
    sandbox: str = ""
    slots: int = 0
    busy: int = 0
    sandbox_report: dict[str, Any] = field(default_factory=dict)
    toolchains: list[str] | None = None
    """All that it serves, where that is more than `toolchain`."""
    references: list[str] | None = None
    """The languages of references that it can run."""
    tools: list[str] | None = None
    """Tools for launches on its device: checks of a sanitizer, and `profile`."""
    programs: list[str] | None = None
    """The ids of the toolchains whose programs it can record.

    Of a worker with a `device`: those whose programs run on that, not on the CPU device.
    """
    proves: bool | None = None
    """False if it proves no kernels; None of an earlier version, which does."""
    ceilings: dict[str, Any] | None = None
    """The peak performance of its device, as its launchers measured it."""
    blobs: dict[str, Any] | None = None
    """The state of the bucket of large blobs in this worker; see `store.bucket`."""

    @property
    def served(self) -> frozenset[str]:
        """The ids of all toolchains that it serves."""
        first = [] if self.toolchain is None else [self.toolchain]
        return frozenset(self.toolchains or first)


def _parse(value: bytes) -> Worker | None:
    try:
        return read_stored(Worker, value)
    except Unreadable as error:  # of a version that it shall not end the list for
        logger.warning("a worker's heartbeat is left out: %s", error)
        return None


def _known_programs(worker: Worker) -> dict[str, list[str]]:
    toolchains = worker.programs or []
    if worker.device is None:
        return {keys.PROGRAMS: toolchains}
    return {keys.PROGRAM_DEVICES: [f"{toolchain} {worker.device}" for toolchain in toolchains]}


class Workers:
    """The workers that sent a heartbeat within `HEARTBEAT_LIFE_S`."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._writes = EssentialWrites(redis)

    async def beat(self, worker: Worker) -> None:
        """Register the worker, or prolong its life; at least three times per life."""
        description = orjson.dumps(asdict(worker)).decode()
        place = worker.device or worker.toolchain
        known = {
            keys.WORKERS: [worker.id],
            keys.DEVICES: [worker.device] if worker.device is not None else [],
            keys.REFERENCES: [f"{language} {place}" for language in worker.references or ()],
            keys.TOOLS: [f"{tool} {place}" for tool in worker.tools or ()],
            keys.PROVERS: sorted(worker.served) if worker.proves else [],
            **_known_programs(worker),
        }
        await self._writes.write(
            ("SET", keys.WORKER + worker.id, description, "EX", str(HEARTBEAT_LIFE_S)),
            *(("SADD", name, *members) for name, members in known.items() if members),
        )

    async def unregister(self, worker_id: str) -> None:
        """Take a worker that stops off the list at once."""
        pipeline = self._redis.pipeline(transaction=True)
        pipeline.delete(keys.WORKER + worker_id)
        pipeline.srem(keys.WORKERS, worker_id)
        await pipeline.execute()

    async def forget_all(self) -> None:
        """Take every worker off the list; those that live are back with their next heartbeat."""
        members: Any = await self._redis.smembers(keys.WORKERS)
        await self._redis.delete(
            keys.WORKERS, *(keys.WORKER + member.decode() for member in members)
        )

    async def list(self) -> list[Worker]:
        """Return the living workers by id; those whose heartbeat stopped leave the list."""
        members: Any = await self._redis.smembers(keys.WORKERS)
        ids = sorted(member.decode() for member in members)
        if not ids:
            return []
        values: Any = await self._redis.mget([keys.WORKER + worker_id for worker_id in ids])
        gone = [worker_id for worker_id, value in zip(ids, values, strict=True) if value is None]
        if gone:
            await self._redis.srem(keys.WORKERS, *gone)
        return [worker for value in values if value is not None and (worker := _parse(value))]

    async def known_devices(self) -> Sequence[str]:
        """Return every device class that a worker ever had, as "<target> <model>"."""
        members: Any = await self._redis.smembers(keys.DEVICES)
        return sorted(member.decode() for member in members)

    async def known_tools(self, device: str) -> frozenset[str]:
        """Return what could ever watch a launch on a device class."""
        members: Any = await self._redis.smembers(keys.TOOLS)
        pairs = (member.decode().partition(" ") for member in members)
        return frozenset(tool for tool, _, place in pairs if place == device)

    async def known_programs(self) -> frozenset[str]:
        """Return the ids of the toolchains whose programs could ever run on the CPU device."""
        members: Any = await self._redis.smembers(keys.PROGRAMS)
        return frozenset(member.decode() for member in members)

    async def may_prove(self) -> bool:
        """Return False if there are workers, none proves kernels, and none ever did."""
        if await self._redis.exists(keys.PROVERS):
            return True
        compiling = [worker for worker in await self.list() if worker.kind == "compile"]
        return not compiling or any(worker.proves is not False for worker in compiling)

    async def known_program_devices(self) -> dict[str, Sequence[str]]:
        """Return on which device classes programs could ever run, in order, by toolchain id."""
        members: Any = await self._redis.smembers(keys.PROGRAM_DEVICES)
        known: dict[str, Any] = {}
        for member in sorted(members):
            toolchain, _, device = member.decode().partition(" ")
            known.setdefault(toolchain, []).append(device)
        return known

    async def known_references(self) -> dict[str, Sequence[str]]:
        """Return what references may be written with: by device class, and by toolchain id.

        A toolchain that is not there has no CPU device, and never had.
        """
        members: Any = await self._redis.smembers(keys.REFERENCES)
        known: dict[str, Any] = {}
        for member in sorted(members):
            language, _, place = member.decode().partition(" ")
            known.setdefault(place, []).append(language)
        return known


class Toolchains:
    """Descriptions (JSON) of every toolchain that a worker ever offered, and the default one."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._writes = EssentialWrites(redis)
        self._register = scripts.load(redis, "register_toolchain")

    async def register(self, toolchain_id: str, description: bytes) -> None:
        """Describe a toolchain; the first one ever offered becomes the default."""
        await self._register(args=[toolchain_id, description])

    async def describe(self, toolchain_id: str) -> bytes | None:
        """Return the description of a toolchain, None for an unknown one."""
        return cast("bytes | None", await self._redis.hget(keys.TOOLCHAINS, toolchain_id))

    async def tried(self, what: str) -> Sequence[str] | None:
        """Return the targets that `what` was found to compile for, None if that is unknown."""
        targets: Any = await self._redis.get(keys.TARGETS_TRIED + what)
        return None if targets is None else targets.decode().split()

    async def note_tried(self, what: str, targets: Sequence[str]) -> None:
        """Keep what trials of `what` found out, for `TRIED_LIFE_S`."""
        name, life_s = keys.TARGETS_TRIED + what, str(TRIED_LIFE_S)
        await self._writes.write(("SET", name, " ".join(targets), "EX", life_s))

    async def list(self) -> dict[str, bytes]:
        """Return the descriptions of all known toolchains by id, the last one offered last."""
        fields: Any = await self._redis.hgetall(keys.TOOLCHAINS)
        offered: Any = await self._redis.zrange(keys.TOOLCHAINS_OFFERED, 0, -1)
        turns = {name: turn for turn, name in enumerate(offered)}
        ordered = sorted(fields.items(), key=lambda item: (turns.get(item[0], -1), item[0]))
        return {name.decode(): description for name, description in ordered}

    async def ids(self) -> Sequence[str]:
        """Return the ids of all known toolchains."""
        ids: Any = await self._redis.hkeys(keys.TOOLCHAINS)
        return [toolchain_id.decode() for toolchain_id in ids]

    async def default(self) -> str | None:
        """Return the id of the default toolchain, None before any worker was ever there."""
        toolchain_id: Any = await self._redis.get(keys.DEFAULT_TOOLCHAIN)
        return None if toolchain_id is None else toolchain_id.decode()

    async def set_default(self, toolchain_id: str) -> bool:
        """Make a known toolchain the default; False when it is unknown."""
        if not await self._redis.hexists(keys.TOOLCHAINS, toolchain_id):
            return False
        await self._writes.write(("SET", keys.DEFAULT_TOOLCHAIN, toolchain_id))
        return True

    async def forget(self, toolchain_id: str) -> bool:
        """Remove a toolchain that no worker offers. Returns False when it is unknown."""
        pipeline = self._redis.pipeline(transaction=True)
        pipeline.hdel(keys.TOOLCHAINS, toolchain_id)
        pipeline.zrem(keys.TOOLCHAINS_OFFERED, toolchain_id)
        removed, _ = await pipeline.execute()
        return bool(removed)


class Counters:
    """Named counters that only grow."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._writes = EssentialWrites(redis)

    async def add_all(self, amounts: Mapping[str, float]) -> None:
        """Add to each counter. Raises StoreUnavailable."""
        words = [("HINCRBYFLOAT", keys.COUNTERS, name, repr(by)) for name, by in amounts.items()]
        await self._writes.write(*words)

    async def stored_bytes(self, cache: Redis) -> dict[str, int]:
        """Return the bytes of unfinished jobs, and of a cache that workers keep within a budget."""
        return {
            "queued_jobs": int(await self._redis.get(keys.JOB_BYTES) or 0),
            "cache": int(await cache.get(keys.CACHE_BYTES) or 0),
        }

    async def read_all(self) -> dict[str, float]:
        """Return all counters. Raises StoreUnavailable."""
        fields: Any = await self._redis.hgetall(keys.COUNTERS)
        return {name.decode(): float(value) for name, value in fields.items()}
