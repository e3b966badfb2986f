"""Validates a child's report on a kernel's autotuner: the child ran user code."""

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from compiler.autotune import AutotuneReading, Heuristic, TunedConfig
from compiler.constexpr import canonical_value, written_value
from compiler.messages.autotuning import MOST_CONFIGS
from compiler.rejection import RequestRejected
from worker.compile.reports import (
    AssumptionFromChild,
    Count,
    FunctionName,
    Malformed,
    Message,
    Report,
    is_small,
)

_Name = Annotated[str, Field(max_length=256)]
_Names = Annotated[list[_Name], Field(max_length=256)]
_Values = Annotated[dict[_Name, Any], Field(max_length=256), AfterValidator(is_small)]


class ReportedConfig(Report):
    """One `triton.Config`, values as tagged JSON."""

    values: _Values
    options: _Values
    unsaid: _Names
    sets_aside: _Names


class ReportedHeuristic(Report):
    """One entry of `@triton.heuristics`."""

    name: _Name
    line: Count
    expression: Annotated[str, Field(max_length=1000)] | None
    why_not: Message | None
    outside: bool


class AutotuneReport(Report):
    """The report of a front child that read a kernel's decorators."""

    kernel: FunctionName
    line: Count
    parameters: Annotated[list[_Name], Field(max_length=4096)]
    is_autotuned: bool
    configs: Annotated[list[ReportedConfig], Field(max_length=MOST_CONFIGS)]
    config_count: Count
    key: _Names
    reset_to_zero: _Names
    restore_value: _Names
    hooks: _Names
    heuristics: Annotated[list[ReportedHeuristic], Field(max_length=256)]
    source_hash: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    assumptions: Annotated[list[AssumptionFromChild], Field(max_length=100)]


def as_reading(report: AutotuneReport, target: str) -> AutotuneReading:
    """Return what the report says, in a request's words.

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
        heuristics=[Heuristic(**item.model_dump()) for item in report.heuristics],
        source_hash=report.source_hash,
        assumptions=report.assumptions,
    )


def _config(config: ReportedConfig) -> TunedConfig:
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
