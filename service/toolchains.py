"""The toolchains that workers registered, and the choice of one for a request.

The set is read again every few seconds, so that a hit needs no look-up. What an id describes never
changes. An operator sets the default (`tritond toolchain default`). If no worker serves it now, one
with the same Triton replaces it, or jobs would queue for ever. `tritond up` sets its own default.
"""

import asyncio
import json
import re
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

from compiler.rejection import FieldError, RequestRejected
from compiler.toolchain import Toolchain
from jobs.features import SHARED_LANES
from service.http.problems import ProblemRaised
from store import workers
from store.jobs.producer import JobProducer
from store.jobs.types import lanes_of, lanes_of_all
from store.stored import read_stored
from store.workers import Toolchains, Workers

MAX_AGE_S = 2.0


@dataclass(frozen=True)
class ToolchainSet:
    """A snapshot of the toolchains; a request uses one snapshot throughout."""

    default: Toolchain | None = None
    known: Sequence[Toolchain] = ()
    """All toolchains: those without a worker first, then by time of registration."""

    @cached_property
    def digest(self) -> str:
        """A digest of the mapping from Triton version to toolchain."""
        by_version = {toolchain.triton: toolchain.id for toolchain in self.known}
        default = self.default.id if self.default else ""
        return sha256(json.dumps([default, sorted(by_version.items())]).encode()).hexdigest()

    def choose(self, version: str | None) -> Toolchain:
        """Return the toolchain for a request that names Triton `version`, or none.

        3.8 is the newest 3.8 that is offered. Among several toolchains of one Triton, prefer the
        last registered one that a worker serves. Raises RequestRejected for a version the
        deployment does not offer, ProblemRaised (503) while there is no toolchain at all.
        """
        if self.default is None:
            detail = (
                "No worker has registered yet. That of `tritond up` takes a few seconds; "
                "elsewhere, start one with `tritond worker`"
            )
            raise ProblemRaised("no_toolchain", detail)
        if version is None:
            return self.default
        named = [each for each in self.known if f"{each.triton}.".startswith(f"{version}.")]
        if named:
            newest = max((each.triton for each in named), key=_newness)
            is_default = newest == self.default.triton
            return self.default if is_default else [t for t in named if t.triton == newest][-1]
        offered = ", ".join(sorted({toolchain.triton for toolchain in self.known}))
        message = f"Triton {version} is not offered here; choose one of {offered}"
        raise RequestRejected(FieldError("/triton", message))


def _newness(version: str) -> tuple[list[int], bool]:
    """Return what orders versions of Triton: 3.9.0rc1 is older than 3.9.0, and that than 3.10.0."""
    release = re.split(r"[^\d.]", version, maxsplit=1)[0]
    is_final = not re.match(r"(a|b|rc|dev)\d", version[len(release) :])
    return [int(digits) for digits in re.findall(r"\d{1,9}", release)], is_final


class ToolchainCache:
    """Caches the set that was last read from the store."""

    def __init__(self, stored: workers.Toolchains, registry: workers.Workers) -> None:
        self._stored = stored
        self._registry = registry
        self._current = ToolchainSet()
        self._read_at = float("-inf")
        self._reading = asyncio.Lock()

    async def all(self) -> Sequence[Toolchain]:
        """Return every registered toolchain."""
        return (await self.current()).known

    async def default(self) -> Toolchain | None:
        """Return the deployment's default, None before the first worker registers."""
        return (await self.current()).default

    async def find(self, toolchain_id: str) -> Toolchain | None:
        """Return the toolchain with this id, None if it is not registered."""
        known = (await self.current()).known
        return next((toolchain for toolchain in known if toolchain.id == toolchain_id), None)

    async def choose(self, version: str | None) -> Toolchain:
        """Return the toolchain for a request that names Triton `version`, or none.

        Raises RequestRejected, ProblemRaised; see `ToolchainSet.choose`.
        """
        return (await self.current()).choose(version)

    async def current(self) -> ToolchainSet:
        """Return the set as it is now."""
        if self._is_fresh():
            return self._current
        async with self._reading:
            if not self._is_fresh():  # another request may have read it while this one waited
                self._current = await self._read()
                self._read_at = time.monotonic()
        return self._current

    async def _read(self) -> ToolchainSet:
        default_id = await self._stored.default()  # first, so that the list contains what it names
        before = {toolchain.id: toolchain for toolchain in self._current.known}
        known = {
            identity: before.get(identity) or read_stored(Toolchain, description)
            for identity, description in (await self._stored.list()).items()
        }
        has_choice = len(known) > 1  # with one toolchain there is no need to read the workers
        served = await served_toolchains(self._registry) if has_choice else known.keys()
        return toolchain_set(default_id, known.values(), served)

    def _is_fresh(self) -> bool:
        return self._current.default is not None and time.monotonic() - self._read_at < MAX_AGE_S


def toolchain_set(
    default_id: str | None, known: Iterable[Toolchain], served: Collection[str]
) -> ToolchainSet:
    """Return the set of the `known` toolchains, in the order in which workers registered them.

    A default that is not `served` is stood in for by the last one that is, of the same Triton.
    """
    ordered = sorted(known, key=lambda toolchain: toolchain.id in served)
    default = next((each for each in ordered if each.id == default_id), None)
    if default is not None and default.id not in served:
        version = default.triton
        alike = [each for each in ordered if each.triton == version and each.id in served]
        default = alike[-1] if alike else default
    return ToolchainSet(default, tuple(ordered))


async def served_toolchains(registry: Workers) -> set[str]:
    """Return the ids of toolchains that live workers serve."""
    return {
        toolchain_id
        for worker in await registry.list()
        if worker.kind == "compile"
        for toolchain_id in worker.served
    }


async def reconcile_default(
    workers: Workers, toolchains: Toolchains, jobs: JobProducer
) -> list[str]:
    """Set a default that a live worker serves, drop unserved toolchains; return the changes.

    What jobs still need is known until a worker has done them. Nothing is forgotten while the
    default changes: until services have followed they queue more for the one before.
    """
    living = await served_toolchains(workers)
    known = {
        name: read_stored(Toolchain, description)
        for name, description in (await toolchains.list()).items()
    }
    default, there = await toolchains.default(), sorted(known.keys() & living)
    if not there:
        return []
    changes = []
    if default not in living:
        chosen = max(there, key=lambda name: _newness(known[name].triton))
        await toolchains.set_default(chosen)
        return [f"the default toolchain is now {chosen} (Triton {known[chosen].triton})"]
    for gone in sorted(known.keys() - living):
        if await _is_needed(gone, workers, jobs):
            continue
        await toolchains.forget(gone)
        changes.append(f"toolchain {gone} (Triton {known[gone].triton}) is not offered any more")
    return changes


async def _is_needed(toolchain_id: str, workers: Workers, jobs: JobProducer) -> bool:
    """Return True if an unfinished job may need this toolchain, now or later.

    A job of a killed worker queues again when its lease expires.
    """
    on_gpus = await workers.known_program_devices()
    own = lanes_of(toolchain_id, on_gpus.get(toolchain_id, ()))
    lanes = [*own, *lanes_of_all(await workers.known_devices(), SHARED_LANES)]
    if any([await jobs.queued(lane) for lane in lanes]):
        return True
    return not (await jobs.lanes_of_running()).isdisjoint(lanes)
