"""The kernel in the source of a launch: where it is, and what Triton sees in its parameters.

The source is read in children; nothing here parses or runs it.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

from compiler.constexpr import function_names
from compiler.job import CompileJob
from compiler.key import kernel_source_key
from compiler.messages.orders import ParametersOrder
from compiler.problem import Problem
from jobs.deadline import Deadline
from worker.compile.child_task import ChildTasks, TimeLimit, read_source, size_bytes
from worker.compile.compile import CompileContext
from worker.compile.lru_cache import LRUCache
from worker.compile.progress import CompilationFailed, Progress
from worker.compile.reports import KernelFacts, ParameterFacts, ParametersReport, ReadReport
from worker.launch.launch_children import ChildSlot


@dataclass(frozen=True, slots=True)
class KernelSource:
    """A source whose kernel can be bound: what parsing it shows, and the facts of the kernel."""

    reading: ReadReport
    facts: KernelFacts


class KernelSources:
    """The sources of one launch, those of references that are kernels included, each read once."""

    def __init__(
        self,
        compiling: CompileContext,
        deadline: Deadline,
        cache: LRUCache[KernelSource] | None = None,
        child_slot: ChildSlot = nullcontext,
    ) -> None:
        self._compiling = compiling
        self.deadline = deadline
        self._cache = cache or LRUCache()
        self._child_slot = child_slot
        self._read: dict[str, KernelSource] = {}

    async def read(self, job: CompileJob) -> KernelSource:
        """Return the kernel of `job` in its source. Raises CompilationFailed, DeadlinePassed."""
        if job.key not in self._read:
            key = source_key(job)
            known = self._cache.get(key)
            if known is None:
                async with self._child_slot():
                    known = await self._find_kernel(job, key)
            self._read[job.key] = known
        return self._read[job.key]

    async def _find_kernel(self, job: CompileJob, key: str) -> KernelSource:
        limit = TimeLimit(self.deadline.limit_s(job.timeout_s))
        tasks = self._compiling.tasks_of(job, Progress(), limit)
        with ended_by(self.deadline):
            reading = await read_source(tasks, self._compiling.readings)
            facts = facts_of(reading)
            if facts is None or not facts.sure:
                facts = await _executed_facts(reading, job, tasks)
        source = KernelSource(reading, facts)
        self._cache.put(key, source, size_bytes(reading))
        return source

    async def parameter_names(self, job: CompileJob) -> frozenset[str] | None:
        """Return the names of the kernel's parameters, None for IR, whose source is not read."""
        if job.source is None:
            return None
        return frozenset(item.name for item in (await self.read(job)).facts.parameters)


@contextmanager
def ended_by(deadline: Deadline) -> Iterator[None]:
    """Raise DeadlinePassed for a compilation in the block that `deadline` ended.

    A compilation that took its own `timeout_s` stays the kernel's failure.
    """
    try:
        yield
    except CompilationFailed as failure:
        if failure.slug == "compile_timeout":
            deadline.check()
        raise


def source_key(job: CompileJob) -> str:
    """Return the key of the facts of a source's kernel: most specializations share it."""
    return kernel_source_key(
        namespace=job.namespace,
        source=job.source,
        module=job.module,
        files=job.files,
        absent=job.absent,
        kernel=job.kernel,
        functions=function_names(job.specialization_json),
        target_name=job.target_name,
        toolchain_id=job.toolchain_id,
    )


def facts_of(reading: ReadReport) -> KernelFacts | None:
    """Return the text's facts about the kernel, None if only execution can find them."""
    return next(
        (item for item in reading.facts.kernels if item.name == reading.kernel and item.certain),
        None,
    )


async def _executed_facts(reading: ReadReport, job: CompileJob, tasks: ChildTasks) -> KernelFacts:
    """Return the facts from the kernel's own function, for kernels that the text cannot decide."""
    order = ParametersOrder(
        kernel=reading.kernel,
        module=job.module,
        files=job.files,
        absent=job.absent,
        target=job.target,
    )
    report = await tasks.run(order, (job.source or "").encode(), ParametersReport.read)
    known = facts_of(reading)
    by_text = {item.name: item.model_dump() for item in known.parameters} if known else {}
    nowhere = {"line": report.line, "column": 1, "set_by": None, "example": None}
    parameters = [
        ParameterFacts(**nowhere | by_text.get(item.name, {}) | item.model_dump())
        for item in report.parameters
    ]
    return KernelFacts(
        name=reading.kernel or report.kernel, line=report.line, parameters=parameters, sure=True
    )


def problem_of(failure: CompilationFailed) -> Problem:
    """Return the problem of a launch whose source cannot be used."""
    return failure.problem(detail_of(failure))


def detail_of(failure: CompilationFailed) -> str:
    """Return why the source cannot be used, with its line where that is known."""
    first = failure.diagnostics[0] if failure.diagnostics else None
    if first is None or first.line is None:
        return str(failure)
    return f"{first.file}:{first.line}: {advice_of(failure)}"


def advice_of(failure: CompilationFailed) -> str:
    """Return why the source cannot be used, for a message that already names the place."""
    first = failure.diagnostics[0] if failure.diagnostics else None
    return str(failure) if first is None or first.line is None else first.advice
