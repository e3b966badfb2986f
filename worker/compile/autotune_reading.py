"""Reading a kernel's autotuner: its slice is cut with all decorators, and a child executes it.

The worker's own process only moves texts and checks the report.
"""

from dataclasses import dataclass

from compiler.autotune import AutotuneReading
from compiler.job import SOURCE_PATH
from compiler.messages.autotuning import MOST_CONFIGS, AutotuneOrder
from compiler.messages.orders import SliceOrder
from compiler.target import parse_target
from worker.compile.autotune_report import AutotuneReport, as_reading
from worker.compile.child_run import ChildRun, carry_out, read_run
from worker.compile.reports import FailureReport, SliceReport
from worker.pool.child_outcome import ChildOutcome
from worker.pool.pool import Pool

DEADLINE_S = 30.0


@dataclass(frozen=True, slots=True)
class UnreadAutotuner:
    """Says why an autotuner is not known: the task's own `failure`, or how its child ended."""

    outcome: ChildOutcome
    failure: FailureReport | None


@dataclass(frozen=True, slots=True)
class AutotunedSource:
    """A source, its other modules, and the kernel whose autotuner is read."""

    source: str
    files: dict[str, str]
    kernel: str | None
    target: str


async def read_autotuner(pool: Pool, asked: AutotunedSource) -> AutotuneReading | UnreadAutotuner:
    """Return the configurations that a kernel tries at a launch. Raises Malformed."""
    sliced = await _slice(pool, asked)
    if sliced.report is None:
        return UnreadAutotuner(sliced.outcome, sliced.failure)
    report = sliced.report
    order = AutotuneOrder(
        kernel=report.kernel,
        files=report.files,
        touched=report.touched,
        sources={SOURCE_PATH: asked.source, **asked.files},
        target=parse_target(asked.target),
    )
    outcome = await carry_out(pool, order, report.slice.encode(), deadline_s=DEADLINE_S)
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
    return as_reading(run.report, asked.target)


async def _slice(pool: Pool, asked: AutotunedSource) -> ChildRun[SliceReport]:
    order = SliceOrder(kernel=asked.kernel, files=asked.files, tuned=True)
    outcome = await carry_out(pool, order, asked.source.encode(), deadline_s=DEADLINE_S)
    return read_run(outcome, SliceReport)
