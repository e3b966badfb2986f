"""Runs a kernel's IR on the CPU, translated to NumPy, in a child, and reads its report.

No user Python runs in that child, so what it says of the kernel is not its author's word.
"""

from collections.abc import Sequence

from compiler.job import CompileJob
from compiler.messages.orders import IrBounds
from compiler.messages.wire import header_of
from jobs.deadline import Deadline
from launch.messages import RunOrder
from launch.request.launch_request import TraceRequest
from worker.launch.cpu_outcome import result_of, stages_of
from worker.launch.kernel_ir import KernelIr
from worker.launch.run import PreparedRun, RunResult, inputs_of, traced
from worker.pool.child_outcome import Ending
from worker.pool.retry import run_task
from worker.pool.session import ChildSession


async def run_on_cpu(
    session: ChildSession,
    job: CompileJob,
    ir: KernelIr,
    run: PreparedRun,
    timeout_s: float,
    deadline: Deadline,
    *,
    checks: Sequence[str] = (),
    trace: TraceRequest | None = None,
    batch_elements: int,
    ir_bounds: IrBounds,
) -> RunResult:
    """Run the kernel of `job`, whose IR is `ir`. Raises DeadlinePassed."""
    inputs, step = inputs_of(run, len(ir.text)), deadline.step(timeout_s)
    order = RunOrder(
        ir=(0, len(ir.text)),
        stage=ir.stage,
        target=job.target,
        files=ir.files,
        allocations=inputs["allocations"],
        arguments=inputs["arguments"],
        parameters=ir.parameters,
        grid=run.grid,
        checks=checks,
        trace=traced(trace),
        batch_elements=batch_elements,
        fp_fusion=ir.fp_fusion,
        ir_bounds=ir_bounds,
        limit_s=step.limit_s,
    )
    outcome = await run_task(
        session,
        order.profile,
        header_of(order),
        ir.text + run.uploads,
        deadline_s=step.limit_s,
        stages=stages_of(run),
    )
    if outcome.ending is Ending.DEADLINE:
        step.timed_out()
    return result_of(outcome, run, timeout_s, order)
