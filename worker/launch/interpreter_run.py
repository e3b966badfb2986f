"""The child that runs a kernel on Triton's CPU interpreter, and what its report amounts to.

User Python runs in that child. It can forge everything it reports of its own kernel, so a verdict
on the interpreter is as honest as the kernel's author; it never sees what is expected.
"""

from collections.abc import Sequence

from compiler.job import CompileJob
from compiler.messages.wire import header_of
from launch.messages import InterpretOrder, TraceOrder
from launch.request.launch_request import TraceRequest
from worker.compile.reports import SliceReport
from worker.launch.cpu_outcome import result_of, stages_of
from worker.launch.run import Deadline, PreparedRun, RunResult, inputs_of, traced
from worker.pool.child_outcome import Ending
from worker.pool.pool import Pool
from worker.pool.retry import run_task


async def interpret(
    pool: Pool,
    job: CompileJob,
    cut: SliceReport,
    run: PreparedRun,
    timeout_s: float,
    deadline: Deadline,
    *,
    checks: Sequence[str] = (),
    trace: TraceRequest | None = None,
) -> RunResult:
    """Run the kernel of `job`, whose slice is `cut`. Raises DeadlinePassed."""
    source = (cut.opinion or cut.slice).encode()
    order = _order_of(job, cut, run, len(source), checks, traced(trace))
    limit_s = deadline.limit_s(timeout_s)
    outcome = await run_task(
        pool,
        order.profile,
        header_of(order),
        source + run.uploads,
        deadline_s=limit_s,
        stages=stages_of(run),
    )
    if outcome.ending is Ending.DEADLINE and limit_s < timeout_s:
        raise deadline.passed
    return result_of(outcome, run, timeout_s, order)


def _order_of(
    job: CompileJob,
    cut: SliceReport,
    run: PreparedRun,
    source_bytes: int,
    checks: Sequence[str],
    trace: TraceOrder | None,
) -> InterpretOrder:
    return InterpretOrder(
        kernel=run.kernel,
        source=(0, source_bytes),
        files=cut.files,
        touched=cut.touched,
        grid=run.grid,
        options=job.options,
        target=job.target_name,
        checks=checks,
        trace=trace,
        **inputs_of(run, source_bytes),
    )
