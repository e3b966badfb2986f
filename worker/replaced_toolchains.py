"""The jobs that wait for a toolchain which no worker serves any more.

A worker with the same Triton does them with its own toolchain, so that no job is lost that was
posted while it took the place of another. What it makes is kept under its own toolchain's keys,
never under theirs.
"""

from collections.abc import Callable, Collection, Sequence

from compiler.toolchain import Toolchain
from store.connection import StoreClient
from store.jobs.producer import JobProducer
from store.stored import read_stored
from store.workers import Toolchains, Worker, Workers
from worker.compile.compile import CompileContext

ServedBy = Callable[[Worker], Collection[str]]


def of_kind(kind: str, worker: Worker) -> Collection[str]:
    """Return the toolchains that `worker` compiles with, or launches with, if that is its kind."""
    return worker.served if worker.kind == kind else ()


def doing_programs(device: str | None, worker: Worker) -> Collection[str]:
    """Return the toolchains whose programs `worker` runs on `device`.

    `device` is a class of GPUs, as `target model`, or None for the CPU device.
    """
    return worker.programs or () if worker.device == device else ()


class ReplacedToolchains:
    """The `lanes` of a worker, which those of replaced toolchains come behind; `look` at times."""

    def __init__(
        self,
        redis: StoreClient,
        served_by: ServedBy,
        own: Sequence[CompileContext],
        lanes_of: Callable[[str], Sequence[str]],
    ) -> None:
        """`own` are the toolchains that the worker has.

        `lanes_of` returns which lanes of a toolchain, by its id, it takes jobs from, and
        `served_by` for which toolchains another worker does so.
        """
        self._registry, self._toolchains = Workers(redis), Toolchains(redis)
        self._jobs = JobProducer(redis)
        self._served_by = served_by
        self._own = {context.toolchain.id: context for context in own}
        self._lanes_of = lanes_of
        self._by_lane = {
            lane: context for name, context in self._own.items() for lane in lanes_of(name)
        }
        self._own_lanes = list(self._by_lane)
        self._unserved: set[str] = set()
        """Toolchains unserved at the last look: a starting worker has no heartbeat yet."""
        self.lanes: list[str] = list(self._own_lanes)
        """The lanes that jobs are taken from now."""

    def context_of(self, lane: str) -> CompileContext:
        """Return what a job of `lane` is done with."""
        return self._by_lane[lane]

    async def look(self) -> None:
        """Find out which toolchains are replaced. Raises StoreUnavailable."""
        contexts = {context.toolchain.triton: context for context in self._own.values()}
        unserved = await self._unserved_and_wanted()
        replaced: dict[str, CompileContext] = {}
        for toolchain_id in unserved & self._unserved:
            description = await self._toolchains.describe(toolchain_id)
            triton = read_stored(Toolchain, description).triton if description else None
            if triton in contexts:
                replaced |= dict.fromkeys(self._lanes_of(toolchain_id), contexts[triton])
        self._unserved = unserved
        self._by_lane |= replaced  # jobs of those that are served again may still be running
        self.lanes[:] = [*self._own_lanes, *replaced]

    async def _unserved_and_wanted(self) -> set[str]:
        """Return the toolchains for which jobs wait, and which no living worker serves.

        The list of workers is read only if such jobs exist: many workers would read it often.
        """
        others = set(await self._toolchains.ids()) - self._own.keys()
        wanted = {each for each in others if await self._is_wanted(each)}
        if not wanted:
            return set()
        workers = await self._registry.list()
        return wanted.difference(*(self._served_by(worker) for worker in workers))

    async def _is_wanted(self, toolchain_id: str) -> bool:
        for lane in self._lanes_of(toolchain_id):
            if await self._jobs.queued(lane):
                return True
        return False
