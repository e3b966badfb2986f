"""Reads what a source's own launches pass: a child runs it as a script, without torch and a GPU.

The worker's own process only moves texts and checks the report.
"""

import logging
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from compiler.constexpr import canonical_value, written_value
from compiler.inspection import (
    InspectedKernel,
    InspectedLaunch,
    InspectJob,
    Proposal,
    assumed_values,
    contract_draft,
)
from compiler.messages.script_launches import (
    MAX_LAUNCHES,
    MAX_LINES,
    MAX_STOP_CHARS,
    Hint,
    KernelLaunch,
    LaunchedParameter,
    LaunchesOrder,
    LaunchesReport,
)
from compiler.rejection import RequestRejected
from compiler.target import parse_target
from compiler.type_name import UnknownType, canonical_type
from worker.compile.child_task import carry_out, read_run
from worker.compile.message_limits import MessageLimits
from worker.compile.reports import Count, FunctionName, Malformed, is_small
from worker.pool.pool import Pool

_log = logging.getLogger(__name__)
_DEADLINE_S = 15.0
_TARGET = "cuda:90"
"""The machine that a script finds where the inspection names none."""
_Name = Annotated[str, Field(max_length=256)]


_LIMITS = MessageLimits({str: _Name, int: Count})
_PARAMETER: Any = _LIMITS.within(
    LaunchedParameter,
    hints=Annotated[list[Hint], Field(max_length=4)],
    value=Annotated[Any, AfterValidator(is_small)],
)
_LAUNCH: Any = _LIMITS.within(
    KernelLaunch,
    kernel=FunctionName,
    file=Annotated[str, Field(max_length=1024)],
    parameters=Annotated[list[_PARAMETER], Field(max_length=4096)],
    options=Annotated[dict[_Name, int], Field(max_length=16)],
    other_lines=Annotated[list[Count], Field(max_length=MAX_LINES)],
)
_read_launches = _LIMITS.reader(
    LaunchesReport,
    launches=Annotated[list[_LAUNCH], Field(max_length=MAX_LAUNCHES)],
    stop=Annotated[str | None, Field(max_length=MAX_STOP_CHARS)],
)


async def with_launches(
    pool: Pool, job: InspectJob, kernels: list[InspectedKernel]
) -> list[InspectedKernel]:
    """Return the kernels, with the arguments of the source's own launches as proposals.

    A kernel without such a launch keeps those from its use, and so does a source whose script ends
    its process, or reports what no request could contain.
    """
    if not any(kernel.launched for kernel in kernels):
        return kernels
    order = LaunchesOrder(
        kernel=None,
        module=job.module,
        files=job.files,
        absent=list(job.absent),
        target=parse_target(job.target or _TARGET),
    )
    outcome = await carry_out(pool, order, job.source.encode(), deadline_s=_DEADLINE_S)
    try:
        report = read_run(outcome, _read_launches).report
    except Malformed as error:  # such as a constexpr that is too long for any request
        _log.info("nothing is known of the launches of a source: %s", error)
        return kernels
    if report is None:  # it ended the child
        return kernels
    by_name = {launch.kernel: launch for launch in report.launches}
    return [
        _launched(kernel, by_name[kernel.name])
        if kernel.name in by_name
        else _without_launch(kernel, report.stop)
        for kernel in kernels
    ]


def _without_launch(kernel: InspectedKernel, stop: str | None) -> InspectedKernel:
    """Return a kernel with a warning if the text launches it and the script stopped before."""
    if kernel.launched_line is None or stop is None:
        return kernel
    warning = f"the launch on line {kernel.launched_line} was not used: {stop}"
    return kernel.model_copy(update={"warnings": [*kernel.warnings, warning]})


def _launched(kernel: InspectedKernel, launch: KernelLaunch) -> InspectedKernel:
    passed = {parameter.name: parameter for parameter in launch.parameters}
    parameters = []
    for parameter in kernel.parameters:
        proposal = parameter.proposal
        if parameter.name in passed:
            proposal = _proposal(passed[parameter.name], launch) or proposal
        parameters.append(parameter.model_copy(update={"proposal": proposal}))
    first = InspectedLaunch(
        file=launch.file,
        line=launch.line,
        options=launch.options,
        other_lines=launch.other_lines,
    )
    known = kernel.model_copy(update={"parameters": parameters, "launch": first})
    derived = {"assumed": assumed_values(known), "contract": contract_draft(known)}
    return known.model_copy(update=derived)


def _proposal(passed: LaunchedParameter, launch: KernelLaunch) -> Proposal | None:
    """Return what a launch passes as a proposal; None if no request could contain it."""
    values, kind = [], passed.type
    try:
        if kind == "constexpr":
            values = [written_value(canonical_value(passed.value, ""))]
        else:
            kind = canonical_type(kind)
    except (RequestRejected, UnknownType):
        return None
    reason = f"the launch on line {launch.line} passes it"
    if passed.is_guess:
        reason += ", as the result of an operation that is not known without torch"
    return Proposal(
        type=kind,
        hints=list(passed.hints),
        # a proof for all sizes must not be one for the sizes of this launch
        assumed_hints=[] if passed.type.startswith("*") else list(passed.hints),
        values=values,
        line=launch.line,
        reason=reason,
        confidence="medium" if passed.is_guess else "high",
        passed=True,
    )
