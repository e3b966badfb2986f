"""Reading a kernel's autotuner: a child executes the source, decorators and all.

The worker's own process only moves texts and checks the report.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.autotune import AutotuneReading
from compiler.messages.autotuning import MOST_CONFIGS, AutotuneOrder
from compiler.messages.orders import ReadOrder
from compiler.target import parse_target
from worker.compile.autotune_report import AutotuneReport, as_reading
from worker.compile.child_run import ChildRun, carry_out, read_run
from worker.compile.reports import FailureReport, ReadReport
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
    module: str | None = None
    absent: Sequence[str] = ()


async def read_autotuner(pool: Pool, asked: AutotunedSource) -> AutotuneReading | UnreadAutotuner:
    """Return the configurations that a kernel tries at a launch. Raises Malformed."""
    reading = await _read(pool, asked)
    if reading.report is None:
        return UnreadAutotuner(reading.outcome, reading.failure)
    order = AutotuneOrder(
        kernel=reading.report.kernel,
        module=asked.module,
        files=asked.files,
        absent=list(asked.absent),
        target=parse_target(asked.target),
    )
    outcome = await carry_out(pool, order, asked.source.encode(), deadline_s=DEADLINE_S)
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


async def _read(pool: Pool, asked: AutotunedSource) -> ChildRun[ReadReport]:
    order = ReadOrder(kernel=asked.kernel, module=asked.module, files=asked.files)
    outcome = await carry_out(pool, order, asked.source.encode(), deadline_s=DEADLINE_S)
    return read_run(outcome, ReadReport)
