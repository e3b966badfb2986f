"""Does one claimed inspection: a child parses a source and reports its kernels.

That runs no user code. If the source launches a kernel, another child runs it as a script, and
reports what the launches pass. If the request names a target, a third executes the source to read
one kernel's autotuner.
"""

from collections.abc import Sequence
from typing import Any

from compiler.autotune import AutotuneReading
from compiler.constexpr import written_value
from compiler.diagnostic import Diagnostic
from compiler.inspection import (
    InspectedKernel,
    Inspection,
    InspectJob,
    assumed_values,
    contract_draft,
)
from compiler.problem import failure_problem
from store.compilations import Derived
from store.jobs.types import KEPT_S
from worker.compile.autotune_reading import AutotunedSource, UnreadAutotuner, read_autotuner
from worker.compile.child_failure import violation_of
from worker.compile.child_task import ChildRun
from worker.compile.compile import CompileContext
from worker.compile.compile_job import success_kept_s
from worker.compile.launches_reading import with_launches
from worker.compile.reports import InspectReport, Malformed, kept_diagnostics
from worker.compile.source_reader import inspect_source
from worker.consumer import Attempt
from worker.pool.child_outcome import ChildOutcome, Ending


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
        inspection = _inspection(await inspect_source(pool, job))
        inspection.kernels = await with_launches(pool, job, inspection.kernels)
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
        kernels = list(map(_as_written, run.report.facts.kernels))
        return Inspection(state="succeeded", kernels=kernels)
    if run.failure is not None:
        failure = run.failure
        return _failed(failure.slug, failure.message, failure.diagnostics, failure.needs)
    return _ended("Reading the source", run.outcome)


def _with_autotuner(inspection: Inspection, found: AutotuneReading | UnreadAutotuner) -> Inspection:
    if isinstance(found, AutotuneReading):
        return inspection.model_copy(update={"autotune": found})
    if found.failure is not None:
        failure = found.failure
        return _failed(failure.slug, failure.message, failure.diagnostics, failure.needs)
    violation = violation_of(found.outcome)
    if violation is not None:
        return _failed("sandbox_violation", violation, [])
    return _ended("Executing the source", found.outcome)


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
