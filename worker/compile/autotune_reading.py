"""Reading a kernel's autotuner: its slice is cut with all decorators, and a child executes it.

The worker's own process only moves texts and checks the report.
"""

from dataclasses import dataclass

from compiler.autotune import AutotuneReading
from compiler.inspection import InspectJob
from compiler.messages.orders import AutotuneOrder, SliceOrder
from compiler.target import parse_target
from worker.compile.autotune_report import MOST_CONFIGS, AutotuneReport, as_reading
from worker.compile.child_run import ChildRun, carry_out, read_run
from worker.compile.reports import FailureReport, SliceReport
from worker.pool.child_outcome import ChildOutcome
from worker.pool.pool import Pool

DEADLINE_S = 30.0


@dataclass(frozen=True, slots=True)
class UnreadAutotuner:
    """Why nothing is known: the task's own `failure`, or how its child ended."""

    outcome: ChildOutcome
    failure: FailureReport | None


async def read_autotuner(
    pool: Pool, job: InspectJob, target: str
) -> AutotuneReading | UnreadAutotuner:
    """Return what the job's kernel tries at a launch on `target`. Raises Malformed."""
    sliced = await _slice(pool, job)
    if sliced.report is None:
        return UnreadAutotuner(sliced.outcome, sliced.failure)
    cut = sliced.report
    order = AutotuneOrder(
        kernel=cut.kernel,
        files=cut.files,
        touched=cut.touched,
        sources={"user.py": job.source, **job.files},
        target=parse_target(target),
    )
    outcome = await carry_out(pool, order, cut.slice.encode(), deadline_s=DEADLINE_S)
    run = read_run(outcome, AutotuneReport)
    if run.report is None:
        return UnreadAutotuner(outcome, run.failure)
    if run.report.config_count > MOST_CONFIGS:
        message = (
            f"@triton.autotune of {run.report.kernel} has {run.report.config_count:,} "
            f"configurations, more than {MOST_CONFIGS:,}"
        )
        failure = FailureReport(
            slug="out_of_resources", stage="frontend", message=message, diagnostics=[]
        )
        return UnreadAutotuner(outcome, failure)
    return as_reading(run.report, target)


async def _slice(pool: Pool, job: InspectJob) -> ChildRun[SliceReport]:
    order = SliceOrder(kernel=job.kernel, files=job.files, tuned=True)
    outcome = await carry_out(pool, order, job.source.encode(), deadline_s=DEADLINE_S)
    return read_run(outcome, SliceReport)
