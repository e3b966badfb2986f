"""The compile jobs that wait for a toolchain which no worker serves any more.

A worker with the same Triton does them with its own toolchain, so that nothing is lost of what was
posted while it took the place of another. What it makes has its own toolchain's keys, never theirs.
"""

from compiler.toolchain import Toolchain
from store.connection import StoreClient
from store.jobs.producer import JobProducer
from store.jobs.types import compile_lane
from store.workers import Toolchains, Workers
from worker.compile.compile import CompileContext


class ReplacedToolchains:
    """The `lanes` of a worker, which those of replaced toolchains come behind; `look` at times."""

    def __init__(self, redis: StoreClient, own: dict[str, CompileContext]) -> None:
        """`own` are the lanes of the toolchains that the worker has."""
        self._registry, self._toolchains = Workers(redis), Toolchains(redis)
        self._jobs = JobProducer(redis)
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
        unserved = await self._unserved_and_wanted()
        replaced = {}
        for toolchain_id in unserved & self._unserved:
            description = await self._toolchains.describe(toolchain_id)
            triton = Toolchain.model_validate_json(description).triton if description else None
            if triton in contexts:
                replaced[compile_lane(toolchain_id)] = contexts[triton]
        self._unserved = unserved
        self._by_lane |= replaced  # jobs of those that are served again may still be under way
        self.lanes[:] = [*self._own, *replaced]

    async def _unserved_and_wanted(self) -> set[str]:
        """Return the toolchains for which jobs wait, and which no living worker serves.

        Who works is asked only where there are such jobs: of many workers, all would ask for all.
        """
        others = set(await self._toolchains.ids())
        others -= {context.toolchain.id for context in self._own.values()}
        wanted = {each for each in others if await self._jobs.queued(compile_lane(each))}
        if not wanted:
            return set()
        workers = [one for one in await self._registry.list() if one.kind == "compile"]
        return wanted - {toolchain_id for worker in workers for toolchain_id in worker.served}
