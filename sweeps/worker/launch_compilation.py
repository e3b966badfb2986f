"""Finds the compilation of a launch before the launch is submitted.

A signature that the launch infers from its arguments depends on the kernel's source, which a child
cuts out of it; the rest is the same binding that the launch's own worker will do.
"""

import asyncio
import hashlib
import json
from dataclasses import dataclass
from weakref import WeakValueDictionary

from compiler.compilation import Compilation
from compiler.job import CompileJob
from compiler.rejection import RequestRejected
from compiler.request.resolution import specialized_job
from compiler.stages import BINARY
from jobs.deadline import Deadline
from launch.request.case import Case
from launch.request.grid import NUM_SMS, parse_grid
from launch.request.launch_job import LaunchJob
from worker.compile.compile import CompileContext
from worker.compile.lru_cache import LRUCache
from worker.compile.reports import KernelFacts
from worker.launch.kernel_source import KernelSource, KernelSources, source_key
from worker.launch.run import PreparedRun
from worker.launch.run_binding import bind, bind_ir, values_for_grid

READ_WITHIN_S = 300.0
_ANY_GRID = parse_grid([1])


@dataclass(frozen=True, slots=True)
class LaunchCompilation:
    """The compile job of a launch, and what of its launching is not in the machine code."""

    job: CompileJob
    launching: str

    def launched_as(self, made: Compilation) -> str:
        """Return the same text for launches that are the same to a GPU.

        Not the same are equal binaries in other grids: constexprs that only the grid names.
        """
        digests = [made.artifacts[name].digest for name in BINARY if name in made.artifacts]
        called = made.abi.to_json() if made.abi is not None else made.key
        return json.dumps([digests, called, self.launching], sort_keys=True)


class LaunchCompilations:
    """Finds the compile jobs of launches; the facts of a source's kernel are read once."""

    def __init__(self, compiling: CompileContext) -> None:
        self._compiling = compiling
        self._known: LRUCache[KernelSource] = LRUCache()
        self._reading: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def of(self, job: LaunchJob) -> LaunchCompilation:
        """Return what `job`, a launch without cases, will compile.

        Raises RequestRejected, BindingFailed, CompilationFailed, DeadlinePassed.
        """
        facts = None
        if job.compile_job.source is not None:
            facts = (await self._read(job.compile_job)).facts
        # in a thread: with many arguments this takes longer than others should wait
        return await asyncio.to_thread(_compilation, job, facts)

    async def _read(self, job: CompileJob) -> KernelSource:
        sources = KernelSources(self._compiling, Deadline(READ_WITHIN_S), self._known)
        lock = self._reading.setdefault(source_key(job), asyncio.Lock())
        async with lock:  # one child for all variants of a source
            return await sources.read(job)


def _compilation(job: LaunchJob, facts: KernelFacts | None) -> LaunchCompilation:
    [case] = job.cases
    # with any grid: how many multiprocessors its own may name is not known here
    if facts is None:
        run = bind_ir(case.bound, _ANY_GRID, 1)
    else:
        run = bind(job.compile_job, facts, case.bound, _ANY_GRID, 1)
    compile_job = job.compile_job
    if job.infers:
        compile_job = specialized_job(compile_job, run.inferred)
    return LaunchCompilation(compile_job, launching(run, case))


def launching(run: PreparedRun, case: Case) -> str:
    """Return the digest of a run except for its machine code: arguments and grid."""
    arguments = hashlib.sha256(run.bound.model_dump_json().encode()).hexdigest()
    values = values_for_grid(run.bound, run.constexprs)
    if NUM_SMS not in case.grid.names:
        try:
            return f"{arguments} {case.grid.evaluate(values)}"
        except RequestRejected:
            pass  # the launch will report what is wrong with its grid
    named = {name: values.get(name) for name in sorted(case.grid.names)}
    return f"{arguments} {case.grid.source} {named}"
