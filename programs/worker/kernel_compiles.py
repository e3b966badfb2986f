"""Compiles a program's kernels: finds them in the cache, or submits ordinary jobs of its caller.

When the program ends, jobs that nothing else waits for are cancelled. A child without user code
reads the effects of kernels from their TTIR: the child that made it ran user code.
"""

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Final

from pydantic import Field

from compiler.compilation import Compilation
from compiler.diagnostic import Diagnostic
from compiler.job import CompileJob
from compiler.messages.wire import header_of
from compiler.problem import Problem, failure_problem
from compiler.specialization import plain_type
from compiler.target import Target, parse_target
from jobs.core_kinds import COMPILATION
from jobs.deadline import Deadline
from jobs.submission import JobClient, JobOrder
from programs.tape.effects_messages import EffectsOrder, EffectsReport
from programs.tape.kernel_effects import KernelEffects
from programs.worker.kernel_jobs import TTIR, KernelUse
from store.blobs import Blobs
from store.compilations import Compilations
from store.jobs.types import Priority
from store.stored import read_stored
from worker.compile.lru_cache import LRUCache
from worker.compile.message_limits import MessageLimits
from worker.compile.reports import Malformed
from worker.launch.kernel_ir import KernelIr, fuses, runtime_paths
from worker.pool.pool import LazyPool

SOURCE: Final = "source"
CUBIN: Final = "cubin"
COMPILED_AT_ONCE: Final = 64
_GONE = "A compiled kernel left the cache before the program could run; post the program again."
READ_LIMIT_S = 60.0
MAX_BODY_BYTES = 16 << 20
"""TTIRs that one child reads, unless one alone is longer."""
_Names = list[Annotated[str, Field(max_length=4_096)]]
_ReadAndWritten = Annotated[list[_Names], Field(min_length=2, max_length=2)]
_read_report = MessageLimits({}).reader(EffectsReport, effects=list[_ReadAndWritten | None])
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BuiltKernel:
    """A finished compilation. `problem` is set if there is no kernel to run.

    `ttir` is the stage after Triton's first passes.
    """

    compilation: Compilation
    ir: KernelIr | None = None
    """The IR that the CPU device runs."""
    ttir: str = ""
    effects: KernelEffects | None = None
    """Its effects on its parameters; None if unknown."""
    problem: Problem | None = None
    cubin: bytes | None = None
    """The cubin that a GPU runs, if `for_gpu`."""

    @property
    def warnings(self) -> Sequence[Diagnostic]:
        """The compiler's warnings."""
        return [item for item in self.compilation.diagnostics if item.is_warning]


@dataclass(frozen=True, slots=True)
class KernelCompiles:
    """Compiles the kernels of one caller's program."""

    client: JobClient
    compilations: Compilations
    blobs: Blobs
    caller: str
    priority: Priority
    deadline: Deadline
    readers: LazyPool
    """Children that read TTIRs."""
    known: LRUCache[KernelEffects] = field(default_factory=LRUCache)
    """The effects of TTIRs that were read before, by caller and text."""
    for_gpu: bool = False
    """True to fetch cubins for a GPU, not IR for the CPU device."""

    async def all(self, wanted: Mapping[str, KernelUse]) -> dict[str, BuiltKernel]:
        """Return each use's finished job, by key. Raises DeadlinePassed, CallerBytesFull."""
        room = asyncio.Semaphore(COMPILED_AT_ONCE)

        async def compiled(use: KernelUse) -> BuiltKernel:
            async with room:
                return await self._compiled(use)

        tasks = [asyncio.create_task(compiled(use)) for use in wanted.values()]
        try:
            built = dict(zip(wanted, await asyncio.gather(*tasks), strict=True))
        finally:  # the first that raises ends the others
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return await self._with_effects(built)

    async def _with_effects(self, built: Mapping[str, BuiltKernel]) -> dict[str, BuiltKernel]:
        """Return the kernels with their effects on their parameters."""
        texts = {kernel.ttir: kernel.ttir.encode() for kernel in built.values() if kernel.ttir}
        effects: dict[str, KernelEffects | None] = {
            text: self.known.get(self._key(text)) for text in texts
        }
        unread = {text: data for text, data in texts.items() if effects[text] is None}
        if unread:
            # a program is compiled for one target
            target = next(
                kernel.compilation.target for kernel in built.values() if kernel.ttir in unread
            )
            effects |= await effects_of(unread, self.readers, self.deadline, parse_target(target))
            for text in unread:
                self._keep(text, effects[text])
        return {
            key: replace(kernel, effects=effects.get(kernel.ttir)) for key, kernel in built.items()
        }

    def _keep(self, ttir: str, effects: KernelEffects | None) -> None:
        if effects is not None:
            names = effects.reads | effects.writes
            self.known.put(self._key(ttir), effects, len(ttir) + sum(map(len, names)))

    def _key(self, ttir: str) -> str:
        """Return the key of a TTIR's effects: no caller may learn what another one compiled."""
        return f"{self.caller}\n{ttir}"

    async def _compiled(self, use: KernelUse) -> BuiltKernel:
        job = use.job
        assert job is not None
        record = await self.compilations.read(job.key) or await self._made(job)
        compilation = read_stored(Compilation, record)
        if compilation.state != "succeeded":
            problem = compilation.problem or failure_problem("worker_lost", "it was not compiled")
            return BuiltKernel(compilation, problem=problem)
        if self.for_gpu:
            return await self._with_cubin(compilation)
        if TTIR not in compilation.artifacts:  # its language has none, as Gluon
            return BuiltKernel(compilation)
        return await self._with_ir(job, use.parameters, compilation)

    async def _with_cubin(self, compilation: Compilation) -> BuiltKernel:
        cubin, ttir = [
            await self._text(compilation, stage) if stage in compilation.artifacts else None
            for stage in (CUBIN, TTIR)
        ]
        if cubin is None or compilation.abi is None:
            return BuiltKernel(compilation, problem=failure_problem("worker_lost", _GONE))
        text = (ttir or b"").decode(errors="replace")
        return BuiltKernel(compilation, ttir=text, cubin=cubin)

    async def _text(self, compilation: Compilation, stage: str) -> bytes | None:
        return await self.blobs.get(compilation.artifacts[stage].digest)

    async def _with_ir(
        self, job: CompileJob, names: Sequence[str], compilation: Compilation
    ) -> BuiltKernel:
        stages = {SOURCE, TTIR} & compilation.artifacts.keys()
        texts = {stage: await self._text(compilation, stage) for stage in stages}
        source, ttir = texts.get(SOURCE), texts.get(TTIR)
        if source is None or (TTIR in texts and ttir is None):
            return BuiltKernel(compilation, problem=failure_problem("worker_lost", _GONE))
        runtime = [item for item in compilation.parameters if item.role == "runtime"]
        runtime.sort(key=lambda item: names.index(item.name))
        ir = KernelIr(
            key=job.key,
            stage=SOURCE,
            text=source,
            files=list(job.texts),
            parameters=[
                path for item in runtime for path in runtime_paths(item.name, plain_type(item.type))
            ],
            stdout=compilation.stdout,
            fp_fusion=fuses(job),
        )
        text = (ttir or b"").decode(errors="replace")
        return BuiltKernel(compilation, ir, text)

    async def _made(self, job: CompileJob) -> bytes:
        """Submit `job`, and return its record when it is done."""
        self.deadline.check()
        order = JobOrder(
            COMPILATION,
            job,
            self.caller,
            self.priority,
            queued_ms=self.deadline.left_ms,
            timeout_ms=int(job.timeout_s * 1000),
        )
        return await self.client.done_within(self.deadline, order)


async def effects_of(
    ttirs: Mapping[str, bytes], readers: LazyPool, deadline: Deadline, target: Target
) -> dict[str, KernelEffects | None]:
    """Return what each of the kernels does to its parameters, by the key of its TTIR.

    None where that is unknown, also because its text cannot be read within the limits of a child.
    Raises DeadlinePassed, ZygoteError.
    """
    effects_by_key: dict[str, KernelEffects | None] = {}
    for keys in _batches(ttirs):
        pool = await readers.started()
        deadline.check()
        order = EffectsOrder(sizes_bytes=[len(ttirs[key]) for key in keys], target=target)
        outcome = await pool.run(
            order.profile,
            header_of(order),
            b"".join(ttirs[key] for key in keys),
            deadline_s=min(READ_LIMIT_S, deadline.left_s),
        )
        effects = _reported(outcome.result, len(keys))
        if effects is None:
            deadline.check()
            logger.warning("the effects of %d kernels are not known: %s", len(keys), outcome.detail)
            effects = [None] * len(keys)
        effects_by_key |= zip(keys, effects, strict=True)
    return effects_by_key


def _batches(ttirs: Mapping[str, bytes]) -> Iterator[list[str]]:
    batch: list[str] = []
    size_bytes = 0
    for key, text in ttirs.items():
        if batch and size_bytes + len(text) > MAX_BODY_BYTES:
            yield batch
            batch, size_bytes = [], 0
        batch.append(key)
        size_bytes += len(text)
    if batch:
        yield batch


def _reported(
    result: Mapping[str, object] | None, count: int
) -> Sequence[KernelEffects | None] | None:
    """Return the effects that a child reported for `count` kernels; None if it failed."""
    if result is None:
        return None
    try:
        reported = _read_report(result).effects
    except Malformed:
        return None
    if len(reported) != count:
        return None
    return [
        None if effects is None else KernelEffects(*map(frozenset, effects)) for effects in reported
    ]
