"""Runs the slicer, in a child that parses a source and executes none of it.

Autotuning posts one source many times, so recent slices are cached.
"""

from compiler.constexpr import function_names
from compiler.job import CompileJob
from compiler.key import slice_key
from compiler.messages.orders import SliceOrder
from worker.compile.child_run import ChildRun, carry_out, read_run
from worker.compile.child_task import ChildTasks
from worker.compile.lru_cache import LRUCache
from worker.compile.reports import InspectReport, SliceReport
from worker.pool.pool import Pool

INSPECT_DEADLINE_S = 30.0
_LEAST_BYTES = 4 << 10
_BYTES_OF_JSON = 20
"""Bytes in memory for each byte of a slice's JSON, without its texts: a report may have megabytes
of facts about a source whose slice is one line."""


async def slice_source(
    tasks: ChildTasks, known: LRUCache[SliceReport], *, refresh: bool = False
) -> SliceReport:
    """Return the slice of the kernel of the tasks' job; what it assumes goes into the progress.

    `known` is a cache of slices; `refresh` skips it. Raises
    CompilationFailed.
    """
    job, progress = tasks.job, tasks.progress
    key = _key_of(job)
    report = None if refresh else known.get(key)
    if report is None:
        report = await tasks.run(_order_of(job), (job.source or "").encode(), SliceReport)
        known.put(key, report, size_bytes(report))
    progress.kernel = report.kernel
    progress.timings_ms["cut"] = report.ms  # the name that the API gave it
    progress.made_ms["slice"] = report.ms
    progress.diagnostics += report.notes
    progress.assumptions += report.assumptions
    return report


def size_bytes(sliced: SliceReport) -> int:
    """Return what a slice takes in memory, at most."""
    texts = (sliced.slice, sliced.whole_module or "", *sliced.files, *sliced.files.values())
    rest = sliced.model_dump_json(exclude={"slice", "whole_module", "files"})
    return _LEAST_BYTES + 4 * sum(map(len, texts)) + _BYTES_OF_JSON * len(rest)


def _key_of(job: CompileJob) -> str:
    return slice_key(
        namespace=job.namespace,
        source=job.source,
        files=job.files,
        kernel=job.kernel,
        functions=function_names(job.specialization_json),
        toolchain_id=job.toolchain_id,
    )


def _order_of(job: CompileJob) -> SliceOrder:
    functions = function_names(job.specialization_json)
    return SliceOrder(kernel=job.kernel, files=job.files, functions=functions)


async def inspect_source(pool: Pool, source: str, files: dict[str, str]) -> ChildRun[InspectReport]:
    """Return the facts about all kernels of a source. Raises Malformed."""
    order = SliceOrder(files=files, inspect=True)
    outcome = await carry_out(pool, order, source.encode(), deadline_s=INSPECT_DEADLINE_S)
    return read_run(outcome, InspectReport)
