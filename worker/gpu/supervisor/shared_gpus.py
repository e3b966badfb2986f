"""The GPUs of this machine, as its launches and its programs share them. Never imports CUDA."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from worker.bytes_in_flight import BytesInFlight
from worker.gpu.supervisor.launchers import Launchers


@dataclass(frozen=True, slots=True)
class StartedGpus:
    """The launchers of all GPUs, and what is known of each: ordinal, target, model."""

    launchers: Launchers
    facts: Sequence[Mapping[str, Any]]


class SharedGpus:
    """The GPUs once their launchers are there, and which programs each of them takes."""

    def __init__(self, programs_bytes: int) -> None:
        """Begin without any; `programs_bytes` is what outputs of programs may take at one time."""
        self.in_flight = BytesInFlight(programs_bytes)
        self._started: StartedGpus | None = None
        self._is_started, self._changed = asyncio.Event(), asyncio.Event()
        self._programs: dict[int, list[str]] = {}

    def start(self, launchers: Launchers, facts: Sequence[Mapping[str, Any]]) -> None:
        """Record that there are launchers."""
        self._started = StartedGpus(launchers, facts)
        self._is_started.set()

    def have_none(self) -> None:
        """Record that this machine has no GPU."""
        self._is_started.set()

    async def started(self) -> StartedGpus | None:
        """Return the GPUs once there are launchers, None on a machine without any."""
        await self._is_started.wait()
        return self._started

    def offer_programs(self, ordinal: int, toolchains: Sequence[str]) -> None:
        """Record that programs recorded with these toolchains run on a GPU; [] takes it back."""
        self._programs[ordinal] = list(toolchains)
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def programs_changed(self) -> None:
        """Return when which programs are taken has changed."""
        await self._changed.wait()

    def programs_of(self, ordinal: int) -> list[str]:
        """Return the toolchains with which programs are recorded that run on a GPU."""
        return self._programs.get(ordinal, [])
