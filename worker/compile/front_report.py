"""Reads the report of a front child, which ran user code."""

from compiler.languages import FrontIr
from compiler.messages.reports import BlockLocations, FrontReport
from worker.compile.message_limits import MessageLimits
from worker.compile.reports import (
    Assumptions,
    Count,
    Diagnostics,
    ModuleNames,
    Name,
    Timings,
    Values,
)

_LIMITS = MessageLimits({str: Name})
read_front_report = _LIMITS.reader(
    FrontReport,
    may_lack=["needs"],
    language=FrontIr,
    locations=_LIMITS.within(BlockLocations, table=list[str], blocks=list[list[Count]]),
    constexprs=Values,
    timings_ms=Timings,
    notes=Diagnostics,
    assumptions=Assumptions,
    needs=ModuleNames,
)
