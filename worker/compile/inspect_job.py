"""Does one claimed inspection: a child parses a source and reports its kernels.

That runs no user code. If the source launches a kernel, another child runs it as a script, and
reports what the launches pass. If the request names a target, a third executes the source to read
one kernel's autotuner.

The worker's own process only moves texts and checks the report.
"""

import logging
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from compiler.autotune import AutotuneReading
from compiler.constexpr import canonical_value, written_value
from compiler.diagnostic import Diagnostic
from compiler.inspection import (
    InspectedKernel,
    InspectedLaunch,
    Inspection,
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
from compiler.problem import failure_problem
from compiler.rejection import RequestRejected
from compiler.target import parse_target
from compiler.type_name import UnknownType, canonical_type
from store.compilations import Derived
from store.jobs.types import KEPT_S
from worker.compile.autotune_reading import AutotunedSource, UnreadAutotuner, read_autotuner
from worker.compile.child_failure import violation_of
from worker.compile.child_task import ChildRun, carry_out, inspect_source, read_run
from worker.compile.compile import CompileContext
from worker.compile.compile_job import success_kept_s
from worker.compile.message_limits import MessageLimits
from worker.compile.reports import (
    Count,
    FunctionName,
    InspectReport,
    Malformed,
    ModuleNames,
    is_small,
    kept_diagnostics,
)
from worker.consumer import Attempt
from worker.pool.child_outcome import ChildOutcome, Ending
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
    shape=Annotated[list[Count] | None, Field(max_length=64)],
    number=Annotated[Any, AfterValidator(is_small)],
)
_LAUNCH: Any = _LIMITS.within(
    KernelLaunch,
    kernel=FunctionName,
    file=Annotated[str, Field(max_length=1024)],
    parameters=Annotated[list[_PARAMETER], Field(max_length=4096)],
    options=Annotated[dict[_Name, int], Field(max_length=16)],
    other_lines=Annotated[list[Count], Field(max_length=MAX_LINES)],
    grid=Annotated[list[Count] | None, Field(max_length=3)],
)
_read_launches = _LIMITS.reader(
    LaunchesReport,
    launches=Annotated[list[_LAUNCH], Field(max_length=MAX_LAUNCHES)],
    stop=Annotated[str | None, Field(max_length=MAX_STOP_CHARS)],
    needs=ModuleNames,
)


async def do_inspection(
    attempt: Attempt[InspectJob], context: CompileContext, kept: Derived
) -> None:
    """Do an inspection, finish it, and store the facts that depend only on the source.

    The result for a toolchain that no worker serves any more is not stored under its key.
    Raises StoreUnavailable.
    """
    job, pool = attempt.job, context.pool
    is_own = job.toolchain_id == context.toolchain.id
    try:
        read = await inspect_source(pool, job)
        inspection = _inspection(read)
        if read.report is not None and read.report.facts.launches:
            inspection = await _with_launches(pool, job, inspection)
        if inspection.state == "succeeded" and job.target is not None:
            asked = AutotunedSource(
                job.source, job.files, job.kernel, job.target, job.module, job.absent
            )
            inspection = _with_autotuner(inspection, await read_autotuner(pool, asked))
    except Malformed as error:
        inspection = _failed("compiler_crashed", f"The report is invalid: {error}", [])
    record = inspection.model_dump_json().encode()
    reusable = inspection.problem is None or not inspection.problem.retryable
    keep_s = success_kept_s(is_own=is_own) if reusable else KEPT_S
    counts = await attempt.finish(record, reusable=reusable, keep_s=keep_s)
    if counts and reusable and is_own:
        await kept.write(job.key, record, {})


def _inspection(run: ChildRun[InspectReport]) -> Inspection:
    if run.report is not None:
        facts = run.report.facts
        kernels, written = (list(map(_as_written, k)) for k in (facts.kernels, facts.written))
        return Inspection(state="succeeded", kernels=kernels, written=written)
    if run.failure is not None:
        failure = run.failure
        return _failed(failure.slug, failure.message, failure.diagnostics, failure.needs)
    return _ended("Reading the source", run.outcome)


def _with_autotuner(
    inspection: Inspection, reading: AutotuneReading | UnreadAutotuner
) -> Inspection:
    if isinstance(reading, AutotuneReading):
        return inspection.model_copy(update={"autotune": reading})
    if reading.failure is not None:
        failure = reading.failure
        return _failed(failure.slug, failure.message, failure.diagnostics, failure.needs)
    violation = violation_of(reading.outcome)
    if violation is not None:
        return _failed("sandbox_violation", violation, [])
    return _ended("Executing the source", reading.outcome)


def _ended(what: str, outcome: ChildOutcome) -> Inspection:
    slug = "compile_timeout" if outcome.ending is Ending.DEADLINE else "compiler_crashed"
    return _failed(slug, f"{what} ended with {outcome.ending}: {outcome.detail}", [])


def _failed(
    slug: str, detail: str, diagnostics: list[Diagnostic], needs: Sequence[str] = ()
) -> Inspection:
    problem = failure_problem(slug, detail, diagnostics=diagnostics, needs=needs)
    return Inspection(state="failed", diagnostics=kept_diagnostics(diagnostics), problem=problem)


def _as_written(kernel: InspectedKernel) -> InspectedKernel:
    """Return the kernel with values as a request would write them."""
    for parameter in kernel.parameters:
        parameter.default = _value(parameter.default)
        if parameter.proposal is not None:
            values = parameter.proposal.values
            parameter.proposal.values = [written_value(value) for value in values]
    for config in kernel.configs:
        for part in ("constexprs", "options"):
            if part in config:
                config[part] = {name: _value(value) for name, value in config[part].items()}
    kernel.assumed, kernel.contract = assumed_values(kernel), contract_draft(kernel)
    return kernel


def _value(described: dict[str, Any] | None) -> dict[str, Any] | None:
    if described is None or "literal" not in described:
        return described
    return described | {"literal": written_value(described["literal"])}


async def _with_launches(pool: Pool, job: InspectJob, inspection: Inspection) -> Inspection:
    """Return an inspection with the arguments of the source's own launches as proposals.

    It names the modules for whose lack one may not have been reached. A kernel without a launch
    keeps those from its use, and so does a source whose script ends its process, or reports what no
    request could contain.
    """
    if not any(kernel.launched for kernel in inspection.kernels):
        return inspection
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
        return inspection
    if report is None:  # it ended the child
        return inspection
    by_name = {launch.kernel: launch for launch in report.launches}
    kernels = [
        _launched(kernel, by_name[kernel.name])
        if kernel.name in by_name
        else _without_launch(kernel, report.stop)
        for kernel in inspection.kernels
    ]
    is_any_missed = any(kernel.launched and kernel.launch is None for kernel in kernels)
    needs = list(report.needs) if is_any_missed else []
    return inspection.model_copy(update={"kernels": kernels, "needs": needs})


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
            dtype_of = None if proposal is None else proposal.dtype_of
            proposal = _proposal(passed[parameter.name], launch, dtype_of) or proposal
        parameters.append(parameter.model_copy(update={"proposal": proposal}))
    first = InspectedLaunch(
        file=launch.file,
        line=launch.line,
        options=launch.options,
        other_lines=launch.other_lines,
        shapes={each.name: each.shape for each in launch.parameters if each.shape is not None},
        scalars={
            each.name: each.number
            for each in launch.parameters
            if isinstance(each.number, int | float)
        },
        grid=launch.grid,
    )
    known = kernel.model_copy(update={"parameters": parameters, "launch": first})
    derived = {"assumed": assumed_values(known), "contract": contract_draft(known)}
    return known.model_copy(update=derived)


def _proposal(
    passed: LaunchedParameter, launch: KernelLaunch, dtype_of: str | None
) -> Proposal | None:
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
        dtype_of=dtype_of,
    )
