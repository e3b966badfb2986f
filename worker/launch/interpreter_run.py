"""The child that runs a kernel on Triton's CPU interpreter, and what its report amounts to.

User Python runs in that child. It can forge everything it reports of its own kernel, so a verdict
on the interpreter is as honest as the kernel's author; it never sees what is expected.
"""

from collections.abc import Sequence

from compiler.job import CompileJob
from compiler.messages.wire import header_of
from compiler.problem import Problem, failure_problem
from launch.messages import InterpretOrder, InterpretReport, TraceOrder
from launch.request.bound_arguments import Buffer
from launch.request.launch_request import TraceRequest
from launch.request.verdict import RunEnding
from worker.compile.child_failure import misreported, violation_of
from worker.compile.reports import Malformed, SliceReport, read_report
from worker.launch.launch_reports import LaunchFailure, finding_of, read_message
from worker.launch.run import (
    Deadline,
    PreparedRun,
    RunResult,
    bits_bytes,
    inputs_of,
    size_bytes,
)
from worker.pool.child_outcome import ChildOutcome, Ending
from worker.pool.pool import Pool
from worker.pool.retry import killed_from_outside, run_task


async def interpret(
    pool: Pool,
    job: CompileJob,
    cut: SliceReport,
    run: PreparedRun,
    timeout_s: float,
    deadline: Deadline,
    *,
    checks: Sequence[str] = (),
    trace: TraceRequest | None = None,
) -> RunResult:
    """Run the kernel of `job`, whose slice is `cut`. Raises DeadlinePassed."""
    source = (cut.opinion or cut.slice).encode()
    traced = None if trace is None else TraceOrder(**trace.model_dump(mode="json"))
    order = _order_of(job, cut, run, len(source), checks, traced)
    limit_s = deadline.limit_s(timeout_s)
    outcome = await run_task(
        pool,
        order.profile,
        header_of(order),
        source + run.uploads,
        deadline_s=limit_s,
        stages=_stages(run),
    )
    if outcome.ending is Ending.DEADLINE and limit_s < timeout_s:
        raise deadline.passed
    return _result_of(outcome, run, timeout_s)


def _order_of(
    job: CompileJob,
    cut: SliceReport,
    run: PreparedRun,
    source_bytes: int,
    checks: Sequence[str],
    trace: TraceOrder | None,
) -> InterpretOrder:
    return InterpretOrder(
        kernel=run.kernel,
        source=(0, source_bytes),
        files=cut.files,
        touched=cut.touched,
        grid=run.grid,
        options=job.options,
        target=job.target_name,
        checks=checks,
        trace=trace,
        **inputs_of(run, source_bytes),
    )


def _result_of(outcome: ChildOutcome, run: PreparedRun, timeout_s: float) -> RunResult:
    result = RunResult(stdout=outcome.stdout.decode(errors="replace"))
    try:
        if outcome.result is not None:
            _take_report(result, read_message(InterpretReport, outcome.result), outcome, run)
        elif outcome.failure is not None:
            _take_failure(result, read_report(LaunchFailure, outcome.failure))
        else:
            _take_ending(result, outcome, timeout_s)
    except Malformed as error:
        result.fail(failure_problem("sandbox_violation", misreported(str(error))))
    return result


def _stages(run: PreparedRun) -> set[str]:
    """Return the names of all that the child may send."""
    names = run.bound.outputs
    return {"trace", *(f"{kind}:{name}" for kind in ("output", "unwritten") for name in names)}


def _take_report(
    result: RunResult, report: InterpretReport, outcome: ChildOutcome, run: PreparedRun
) -> None:
    stages = {stage.name: stage.body for stage in outcome.stages}
    outputs = {
        name: _whole(stages.get(f"output:{name}"), name, output)
        for name, output in run.bound.outputs.items()
    }
    result.outputs = outputs
    result.unwritten = {
        name: _bits(stages[f"unwritten:{name}"], name, output)
        for name, output in run.bound.outputs.items()
        if f"unwritten:{name}" in stages
    }
    result.trace = stages.get("trace")
    result.findings = [*report.findings, *map(finding_of, report.modified)]
    result.deterministic = report.deterministic


def _whole(data: bytes | None, name: str, output: Buffer) -> bytes:
    if data is None or len(data) != size_bytes(output):
        raise Malformed(f"the output {name} is missing or of another size")
    return data


def _bits(data: bytes, name: str, output: Buffer) -> bytes:
    if len(data) != bits_bytes(output):
        raise Malformed(f"what of the output {name} was not written is of another size")
    return data


def _take_failure(result: RunResult, failure: LaunchFailure) -> None:
    match failure.slug:
        case "memory_exceeded":
            message = "The run needs more memory than a process of a launch may have."
            result.end(RunEnding.OUT_OF_MEMORY, message)
        case "compiler_crashed":
            _crashed(result, failure.message)
        case _:
            result.fail(kernel_problem(failure))


def _take_ending(result: RunResult, outcome: ChildOutcome, timeout_s: float) -> None:
    if outcome.ending is Ending.DEADLINE:
        result.end(RunEnding.TIMEOUT, f"The run did not end within timeout_s = {timeout_s:g} s.")
    elif is_ours(outcome):
        detail = (
            f"The process that was to run the kernel was lost ({outcome.detail}); launch again."
        )
        result.fail(failure_problem("worker_lost", detail))
    elif (violation := violation_of(outcome)) is not None:
        result.fail(failure_problem("sandbox_violation", violation))
    else:
        _crashed(result, outcome.detail)


def is_ours(outcome: ChildOutcome) -> bool:
    """Whether a child ended through no fault of what result in it."""
    return outcome.ending is Ending.SANDBOX or killed_from_outside(outcome, "front")


def _crashed(result: RunResult, detail: str) -> None:
    message = f"The process that result the kernel ended unexpectedly ({detail})."
    result.end(RunEnding.CRASHED, message)


def kernel_problem(failure: LaunchFailure) -> Problem:
    """Return the problem of a kernel that cannot be run, with its line where that is known."""
    slug = "invalid_argument" if failure.slug == "invalid_descriptor" else failure.slug
    first = failure.diagnostics[0] if failure.diagnostics else None
    detail = failure.message
    if first is not None and first.line is not None:
        end = "" if first.message.endswith((".", "!", "?")) else "."
        hint = f"{end} {first.hint}" if first.hint else ""
        detail = f"{first.file}:{first.line}: {first.message}{hint}"
    return failure_problem(slug, detail)
