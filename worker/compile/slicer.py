"""Running the slicer: in a child that reads the syntax of a source and executes none of it."""

from compiler.constexpr import function_names
from compiler.job import CompileJob
from compiler.messages.orders import SliceOrder
from worker.compile.child_run import ChildRun, carry_out, read_run
from worker.compile.child_task import ChildTasks
from worker.compile.reports import InspectReport, SliceReport
from worker.pool.pool import Pool

INSPECT_DEADLINE_S = 30.0


async def slice_source(tasks: ChildTasks) -> SliceReport:
    """Return the slice of the kernel of the tasks' job; what it assumes goes into the progress.

    Raises CompilationFailed.
    """
    job, progress = tasks.job, tasks.progress
    report = await tasks.run(_order_of(job), (job.source or "").encode(), SliceReport)
    progress.kernel = report.kernel
    progress.timings_ms["cut"] = report.ms
    progress.diagnostics += report.notes
    progress.assumptions += report.assumptions
    return report


def _order_of(job: CompileJob) -> SliceOrder:
    functions = function_names(job.specialization_json)
    return SliceOrder(kernel=job.kernel, files=job.files, functions=functions)


async def inspect_source(pool: Pool, source: str, files: dict[str, str]) -> ChildRun[InspectReport]:
    """Return what a source says of all its kernels. Raises Malformed."""
    order = SliceOrder(files=files, inspect=True)
    outcome = await carry_out(pool, order, source.encode(), deadline_s=INSPECT_DEADLINE_S)
    return read_run(outcome, InspectReport)
