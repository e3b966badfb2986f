"""The compile jobs that wait for a toolchain which no worker serves any more.

A worker with the same Triton does them with its own toolchain, so that nothing is lost of what was
posted while it took the place of another. What it makes has its own toolchain's keys, never theirs.
"""

from collections.abc import Sequence

from compiler.toolchain import Toolchain
from store.connection import StoreClient
from store.jobs.types import compile_lane
from store.workers import Toolchains, Workers
from worker.compile.compile import CompileContext


class ReplacedToolchains:
    """The `lanes` of a worker, which those of replaced toolchains come behind; `look` at times."""

    def __init__(self, redis: StoreClient, own: dict[str, CompileContext]) -> None:
        """`own` are the lanes of the toolchains that the worker has."""
        self._registry, self._toolchains = Workers(redis), Toolchains(redis)
        self._own = dict(own)
        self._by_lane = dict(own)
        self._unserved: set[str] = set()
        """Those of the look before: a worker that begins has no heartbeat yet."""
        self.lanes: list[str] = list(own)
        """Those that jobs are taken from now."""

    def context_of(self, lane: str) -> CompileContext:
        """Return what a job of `lane` is done with."""
        return self._by_lane[lane]

    async def look(self) -> None:
        """Find out which toolchains are replaced. Raises StoreUnavailable."""
        contexts = {context.toolchain.triton: context for context in self._own.values()}
        unserved = await self._find_unserved()
        replaced = {
            compile_lane(toolchain.id): contexts[toolchain.triton]
            for toolchain in unserved
            if toolchain.triton in contexts and toolchain.id in self._unserved
        }
        self._unserved = {toolchain.id for toolchain in unserved}
        self._by_lane |= replaced  # jobs of those that are served again may still be under way
        self.lanes[:] = [*self._own, *replaced]

    async def _find_unserved(self) -> Sequence[Toolchain]:
        known = await self._toolchains.list()
        workers = [one for one in await self._registry.list() if one.kind == "compile"]
        served = {toolchain_id for worker in workers for toolchain_id in worker.served}
        served |= {context.toolchain.id for context in self._own.values()}
        return [
            Toolchain.model_validate_json(description)
            for toolchain_id, description in known.items()
            if toolchain_id not in served
        ]
