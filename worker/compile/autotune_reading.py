"""Reading a kernel's autotuner: a child executes the source, decorators and all.

The worker's own process only moves texts and checks the report.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from compiler.autotune import AutotuneReading, Heuristic, TunedConfig
from compiler.constexpr import canonical_value, written_value
from compiler.messages.autotuning import (
    MAX_CONFIGS,
    AutotuneOrder,
    AutotuneReport,
    HeuristicReport,
    TunedConfigMessage,
)
from compiler.messages.orders import ReadOrder
from compiler.rejection import RequestRejected
from compiler.target import parse_target
from worker.compile.child_task import ChildRun, carry_out, read_run
from worker.compile.message_limits import MessageLimits
from worker.compile.reports import (
    Assumptions,
    Count,
    FailureReport,
    FunctionName,
    Hash,
    Malformed,
    Message,
    ReadReport,
    is_small,
)
from worker.pool.child_outcome import ChildOutcome
from worker.pool.pool import Pool

DEADLINE_S = 30.0
_Name = Annotated[str, Field(max_length=256)]
_Names = Annotated[list[_Name], Field(max_length=256)]
_Values = Annotated[dict[_Name, Any], Field(max_length=256), AfterValidator(is_small)]


@dataclass(frozen=True, slots=True)
class UnreadAutotuner:
    """The reason why an autotuner is unknown: the task's own `failure`, or how its child ended."""

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
    run = read_run(outcome, read_autotune_report)
    if run.report is None:
        return UnreadAutotuner(outcome, run.failure)
    if run.report.config_count > MAX_CONFIGS:
        message = (
            f"@triton.autotune of {run.report.kernel} has {run.report.config_count:,} "
            f"configurations, more than {MAX_CONFIGS:,}"
        )
        failure = FailureReport(
            slug="out_of_resources", stage="frontend", message=message, diagnostics=[]
        )
        return UnreadAutotuner(outcome, failure)
    return as_reading(run.report, asked.target)


async def _read(pool: Pool, asked: AutotunedSource) -> ChildRun[ReadReport]:
    order = ReadOrder(kernel=asked.kernel, module=asked.module, files=asked.files)
    outcome = await carry_out(pool, order, asked.source.encode(), deadline_s=DEADLINE_S)
    return read_run(outcome, ReadReport.read)


_LIMITS = MessageLimits({str: _Name, int: Count, list[str]: _Names, dict[str, Any]: _Values})
_CONFIG: Any = _LIMITS.within(TunedConfigMessage)
_HEURISTIC: Any = _LIMITS.within(
    HeuristicReport,
    expression=Annotated[str, Field(max_length=1000)] | None,
    why_not=Message | None,
)
read_autotune_report = _LIMITS.reader(
    AutotuneReport,
    kernel=FunctionName,
    parameters=Annotated[list[_Name], Field(max_length=4096)],
    configs=Annotated[list[_CONFIG], Field(max_length=MAX_CONFIGS)],
    heuristics=Annotated[list[_HEURISTIC], Field(max_length=256)],
    source_hash=Hash,
    assumptions=Assumptions,
)


def as_reading(report: AutotuneReport, target: str) -> AutotuneReading:
    """Return the report as a request would write it.

    Raises Malformed for an invalid value.
    """
    return AutotuneReading(
        kernel=report.kernel,
        line=report.line,
        target=target,
        parameters=report.parameters,
        is_autotuned=report.is_autotuned,
        configs=list(map(_config, report.configs)),
        key=report.key,
        reset_to_zero=report.reset_to_zero,
        restore_value=report.restore_value,
        hooks=report.hooks,
        heuristics=[Heuristic(**asdict(item)) for item in report.heuristics],
        source_hash=report.source_hash,
        assumptions=report.assumptions,
    )


def _config(config: TunedConfigMessage) -> TunedConfig:
    values: dict[str, Any] = {}
    unsaid = list(config.unsaid)
    for name, value in config.values.items():
        try:
            values[name] = written_value(canonical_value(value, ""))
        except RequestRejected:  # a number beyond 64 bits, a tuple of thousands
            unsaid.append(name)
    try:
        options = {
            name: written_value(canonical_value(v, "")) for name, v in config.options.items()
        }
    except RequestRejected as error:
        raise Malformed(f"an option of a configuration: {error}") from None
    return TunedConfig(values=values, options=options, unsaid=unsaid, sets_aside=config.sets_aside)
