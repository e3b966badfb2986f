"""The outcome of a child that ran a kernel on the CPU device, from its report or its death.

Its report concerns its own kernel alone: no such child sees the expected outputs.
"""

from compiler.problem import Problem, failure_problem
from launch.messages import RunOrder, RunReport
from launch.request.bound_arguments import Buffer
from launch.request.verdict import RunEnding
from worker.compile.child_failure import misreported, violation_of
from worker.compile.reports import Malformed, read_report
from worker.launch.launch_reports import LaunchFailure, finding_of, read_message
from worker.launch.run import PreparedRun, RunResult, bits_bytes, size_bytes
from worker.pool.child_outcome import ChildOutcome, Ending
from worker.pool.retry import killed_from_outside


def result_of(
    outcome: ChildOutcome, run: PreparedRun, timeout_s: float, order: RunOrder
) -> RunResult:
    """Return the result of `run` in the child of an `order` with the limit `timeout_s`."""
    result = RunResult(stdout=outcome.stdout.decode(errors="replace"))
    try:
        if outcome.result is not None:
            _take_report(result, read_message(RunReport, outcome.result), outcome, run)
        elif outcome.failure is not None:
            _take_failure(result, read_report(LaunchFailure, outcome.failure))
        else:
            _take_ending(result, outcome, timeout_s, order)
    except Malformed as error:
        result.fail(failure_problem("sandbox_violation", misreported(str(error))))
    return result


def stages_of(run: PreparedRun) -> set[str]:
    """Return the names of all stages that the child may send."""
    names = run.bound.outputs
    return {"trace", *(f"{kind}:{name}" for kind in ("output", "unwritten") for name in names)}


def _take_report(
    result: RunResult, report: RunReport, outcome: ChildOutcome, run: PreparedRun
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
        raise Malformed(f"the output {name} is missing or has the wrong size")
    return data


def _bits(data: bytes, name: str, output: Buffer) -> bytes:
    if len(data) != bits_bytes(output):
        raise Malformed(f"the unwritten bits of the output {name} have the wrong size")
    return data


def _take_failure(result: RunResult, failure: LaunchFailure) -> None:
    match failure.slug:
        case "memory_exceeded":
            message = "The run needs more memory than a launch's process may use. Use smaller "
            message += "arguments."
            result.end(RunEnding.OUT_OF_MEMORY, message)
        case "check_timeout":
            result.end(RunEnding.TIMEOUT, failure.message)
        case "compiler_crashed":
            _crashed(result, failure.message)
        case _:
            result.fail(_kernel_problem(failure))


def _take_ending(
    result: RunResult, outcome: ChildOutcome, timeout_s: float, order: RunOrder
) -> None:
    if outcome.ending is Ending.DEADLINE:
        checked = ", ".join(order.checks)
        beside = f" With its checks ({checked}) it takes longer." if checked else ""
        message = f"The run did not end within timeout_s = {timeout_s:g} s.{beside}"
        result.end(RunEnding.TIMEOUT, message)
    elif _is_ours(outcome, order.profile):
        detail = f"The process for the kernel was lost ({outcome.detail}). Launch again."
        result.fail(failure_problem("worker_lost", detail))
    elif (violation := violation_of(outcome)) is not None:
        result.fail(failure_problem("sandbox_violation", violation))
    else:
        _crashed(result, outcome.detail)


def _is_ours(outcome: ChildOutcome, profile: str) -> bool:
    """Return True if a child of this profile died for reasons other than the code in it."""
    return outcome.ending is Ending.SANDBOX or killed_from_outside(outcome, profile)


def _crashed(result: RunResult, detail: str) -> None:
    message = f"The process that ran the kernel ended unexpectedly ({detail})."
    result.end(RunEnding.CRASHED, message)


def _kernel_problem(failure: LaunchFailure) -> Problem:
    slug = "invalid_argument" if failure.slug == "invalid_descriptor" else failure.slug
    first = failure.diagnostics[0] if failure.diagnostics else None
    detail = failure.message
    if first is not None and first.line is not None:
        detail = f"{first.file}:{first.line}: {first.advice}"
    return failure_problem(slug, detail, diagnostics=failure.diagnostics)
