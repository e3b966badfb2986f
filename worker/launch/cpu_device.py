"""The CPU device of one launch: each of its kernels compiled to IR, and that run in NumPy.

A kernel that does not compile fails with the compiler's diagnostics, as on a GPU.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from compiler.compilation import Compilation
from compiler.diagnostic import Diagnostic
from compiler.job import CompileJob
from compiler.messages.wire import header_of
from compiler.problem import Problem, failure_problem
from jobs.deadline import Deadline
from launch.messages import Finding, RunOrder, RunReport, TuningOrder
from launch.request.bound_arguments import Buffer
from launch.request.launch_job import LaunchJob
from launch.request.launch_request import TraceRequest
from launch.request.verdict import RunEnding
from worker.compile.build_record import build_record
from worker.compile.child_failure import misreported, violation_of
from worker.compile.compile import CompileContext
from worker.compile.progress import CompilationFailed
from worker.compile.reports import Malformed
from worker.launch.kernel_ir import IrFailed, KernelIr, KernelIrs
from worker.launch.kernel_source import advice_of, problem_of
from worker.launch.large_body import body_of
from worker.launch.launch_children import Children
from worker.launch.launch_reports import LaunchFailure, finding_of, read_run_report
from worker.launch.run import (
    PreparedRun,
    RunResult,
    bits_bytes,
    inputs_of,
    not_run,
    size_bytes,
    traced,
)
from worker.pool.child_outcome import ChildOutcome, Ending
from worker.pool.pool import killed_from_outside
from worker.pool.session import ChildSession

DOES_NOT_COMPILE = "does_not_compile"
WARNING = "warning"


@dataclass(slots=True)
class CpuDevice:
    """Runs kernels; `compilation` is the last one that failed, `compile_ms` what all took."""

    children: Children
    compiling: CompileContext
    launch: LaunchJob
    deadline: Deadline
    irs: KernelIrs
    compilation: Compilation | None = None
    compile_ms: float = 0.0
    _printed: set[str] = field(default_factory=set)
    _session: ChildSession | None = None
    """The children that run IR: one for all cases, if each ends well."""

    def close(self) -> None:
        """End its children: the launch is over."""
        if self._session is not None:
            self._session.close()

    async def run(
        self,
        job: CompileJob,
        run: PreparedRun,
        *,
        checks: Sequence[str] = (),
        trace: TraceRequest | None = None,
        tuning: TuningOrder | None = None,
    ) -> RunResult:
        """Run the kernel of `job`, whose specialization is complete.

        Raises DeadlinePassed, RequestRejected.
        """
        started = time.monotonic()
        try:
            ir = await self.irs.read(job, run)
        except IrFailed as failed:
            return self._not_compiled(job, failed, started)
        finally:
            self.compile_ms += (time.monotonic() - started) * 1000
        result = await self._run_ir(job, ir, run, checks, trace, tuning)
        if result.problem is None:
            result.findings += map(warning_finding, ir.warnings)
        if ir.key not in self._printed:
            self._printed.add(ir.key)
            result.stdout = ir.stdout + result.stdout
        return result

    async def _run_ir(
        self,
        job: CompileJob,
        ir: KernelIr,
        run: PreparedRun,
        checks: Sequence[str],
        trace: TraceRequest | None,
        tuning: TuningOrder | None,
    ) -> RunResult:
        """Run IR that is translated to NumPy, in a child. Raises DeadlinePassed.

        No user Python runs in that child, so its report is not the word of the kernel's author.
        """
        self._session = self._session or ChildSession(self.children.kernels)
        inputs, step = inputs_of(run, len(ir.text)), self.deadline.step(self.launch.timeout_s)
        order = RunOrder(
            ir=(0, len(ir.text)),
            stage=ir.stage,
            target=job.target,
            files=ir.files,
            allocations=inputs["allocations"],
            arguments=inputs["arguments"],
            parameters=ir.parameters,
            grid=run.grid,
            checks=checks,
            trace=traced(trace),
            tuning=tuning,
            batch_elements=self.children.batch_elements,
            fp_fusion=ir.fp_fusion,
            ir_bounds=self.compiling.ir_bounds,
            limit_s=step.limit_s,
        )
        async with body_of([ir.text, run.uploads]) as body:
            outcome = await self._session.run(
                order.profile,
                header_of(order),
                body,
                deadline_s=step.limit_s,
                stages=_stages_of(run),
            )
        if outcome.ending is Ending.DEADLINE:
            step.timed_out()
        return result_of(outcome, run, self.launch.timeout_s, order)

    def _not_compiled(self, job: CompileJob, failed: IrFailed, started: float) -> RunResult:
        """Return that there is no run, and keep the compilation that shows why."""
        failure = failed.failure
        toolchain = self.compiling.toolchain
        self.compilation = build_record(job, toolchain, failed.progress, {}, started, failure)
        result = not_run(problem_of(failure))
        if self.launch.has_cases:  # a case has no compilation to say more
            result.findings.append(_finding(failure, advice_of(failure)))
        return result


def _finding(failure: CompilationFailed, message: str) -> Finding:
    """Return the finding of a kernel that does not compile."""
    first = failure.diagnostics[0] if failure.diagnostics else None
    return Finding(
        kind=DOES_NOT_COMPILE,
        file=first.file if first else None,
        line=first.line if first else None,
        column=first.column if first else None,
        message=message,
        diagnostics=failure.diagnostics,
    )


def warning_finding(warning: Diagnostic) -> Finding:
    """Return the finding of a compiler's warning, which changes no verdict."""
    return Finding(
        kind=WARNING,
        file=warning.file,
        line=warning.line,
        column=warning.column,
        message=warning.advice,
    )


# The outcome of a child that ran a kernel on the CPU device, from its report or its death.
#
# Its report concerns its own kernel alone: no such child sees the expected outputs.


def result_of(
    outcome: ChildOutcome, run: PreparedRun, timeout_s: float, order: RunOrder
) -> RunResult:
    """Return the result of `run` in the child of an `order` with the limit `timeout_s`."""
    result = RunResult(stdout=outcome.stdout.decode(errors="replace"))
    try:
        if outcome.result is not None:
            _take_report(result, read_run_report(outcome.result), outcome, run)
        elif outcome.failure is not None:
            _take_failure(result, LaunchFailure.read(outcome.failure))
        else:
            _take_ending(result, outcome, timeout_s, order)
    except Malformed as error:
        result.fail(failure_problem("sandbox_violation", misreported(str(error))))
    return result


def _stages_of(run: PreparedRun) -> set[str]:
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
    result.causes = report.causes


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
        slowed = f" With its checks ({checked}) it takes longer." if checked else ""
        message = f"The run did not end within timeout_s = {timeout_s:g} s.{slowed}"
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
