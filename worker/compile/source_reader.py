"""Has a child parse a source, which executes none of it.

Autotuning posts one source many times, so recent reports are cached.
"""

from compiler.constexpr import function_names
from compiler.inspection import InspectJob
from compiler.job import CompileJob
from compiler.key import reading_key
from compiler.messages.orders import ReadOrder
from worker.compile.child_task import ChildRun, ChildTasks, carry_out, read_run
from worker.compile.lru_cache import LRUCache
from worker.compile.reports import InspectReport, ReadReport
from worker.pool.pool import Pool

INSPECT_DEADLINE_S = 30.0
_MIN_BYTES = 4 << 10
_BYTES_OF_JSON = 20
"""Bytes in memory for each byte of a report's JSON."""


async def read_source(
    tasks: ChildTasks, known: LRUCache[ReadReport], *, refresh: bool = False
) -> ReadReport:
    """Return the kernel of the tasks' job, and the facts about the jit functions of its source.

    `known` is a cache of reports; `refresh` skips it. Raises CompilationFailed.
    """
    job, progress = tasks.job, tasks.progress
    key = _key_of(job)
    report = None if refresh else known.get(key)
    if report is None:
        report = await tasks.run(_order_of(job), (job.source or "").encode(), ReadReport.read)
        known.put(key, report, size_bytes(report))
    progress.kernel = report.kernel
    progress.timings_ms["cut"] = report.ms  # the name that the API gave it
    progress.made_ms["read"] = report.ms
    return report


def size_bytes(report: ReadReport) -> int:
    """Return what a report takes in memory, at most."""
    return _MIN_BYTES + _BYTES_OF_JSON * len(report.model_dump_json())


def _key_of(job: CompileJob) -> str:
    return reading_key(
        namespace=job.namespace,
        source=job.source,
        module=job.module,
        files=job.files,
        kernel=job.kernel,
        functions=function_names(job.specialization_json),
        toolchain_id=job.toolchain_id,
    )


def _order_of(job: CompileJob) -> ReadOrder:
    functions = function_names(job.specialization_json)
    return ReadOrder(kernel=job.kernel, module=job.module, files=job.files, functions=functions)


async def inspect_source(pool: Pool, job: InspectJob) -> ChildRun[InspectReport]:
    """Return the facts about all kernels of a source. Raises Malformed."""
    order = ReadOrder(module=job.module, files=job.files, inspect=True)
    outcome = await carry_out(pool, order, job.source.encode(), deadline_s=INSPECT_DEADLINE_S)
    return read_run(outcome, InspectReport.read)
