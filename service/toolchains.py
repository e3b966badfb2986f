"""The toolchains that workers registered, as this process last read them.

Read again every few seconds, so that a hit costs no look-up. A toolchain's description never
changes under its id.
"""

import asyncio
import time

from compiler.rejection import Fault, RequestRejected
from compiler.toolchain import Toolchain
from service.problems import ProblemRaised
from store import workers

MAX_AGE_S = 2.0


class Toolchains:
    """Known toolchains and the deployment's default."""

    def __init__(self, stored: workers.Toolchains) -> None:
        self._stored = stored
        self._known: dict[str, Toolchain] = {}
        self._default_id: str | None = None
        self._read_at = float("-inf")
        self._reading = asyncio.Lock()

    async def all(self) -> list[Toolchain]:
        """Return every toolchain that was registered and not forgotten."""
        await self._refresh()
        return list(self._known.values())

    async def default(self) -> Toolchain | None:
        """Return the deployment's default, or None while no worker has ever registered."""
        await self._refresh()
        return self._known.get(self._default_id or "")

    async def find(self, toolchain_id: str) -> Toolchain | None:
        """Return the toolchain with this id, or None when it was never registered, or forgotten."""
        await self._refresh()
        return self._known.get(toolchain_id)

    async def choose(self, version: str | None) -> Toolchain:
        """Return the toolchain for a request that names Triton `version`, or none.

        Raises RequestRejected for a version the deployment does not offer, ProblemRaised (503)
        while there is no toolchain at all.
        """
        default = await self.default()
        if default is None:
            detail = (
                "No worker has registered yet. The one of `tritond up` takes a few seconds; "
                "where there is none, start one with `tritond worker`"
            )
            raise ProblemRaised("no_toolchain", detail)
        if version is None or version == default.triton:
            return default
        for toolchain in self._known.values():
            if toolchain.triton == version:
                return toolchain
        offered = ", ".join(sorted({toolchain.triton for toolchain in self._known.values()}))
        message = f"Triton {version} is not offered here; there is {offered}"
        raise RequestRejected(Fault("/triton", message))

    async def _refresh(self) -> None:
        if self._is_fresh():
            return
        async with self._reading:
            if self._is_fresh():
                return  # another request read it while this one waited
            default_id = await self._stored.default()  # first: what it names is in the list then
            self._known = {
                identity: self._known.get(identity) or Toolchain.model_validate_json(description)
                for identity, description in (await self._stored.list()).items()
            }
            self._default_id = default_id
            self._read_at = time.monotonic()

    def _is_fresh(self) -> bool:
        return self._default_id is not None and time.monotonic() - self._read_at < MAX_AGE_S
