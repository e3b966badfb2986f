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
from jobs.deadline import Deadline
from launch.checks.precision_causes import questionable
from launch.messages import Finding, RunOrder, TuningOrder
from launch.request.launch_job import LaunchJob
from launch.request.launch_request import TraceRequest
from worker.compile.build_record import build_record
from worker.compile.compile import CompileContext
from worker.compile.progress import CompilationFailed
from worker.launch.cpu_outcome import result_of, stages_of
from worker.launch.kernel_ir import IrFailed, KernelIr, KernelIrs
from worker.launch.kernel_source import advice_of, problem_of
from worker.launch.large_body import body_of
from worker.launch.launch_children import Children
from worker.launch.run import PreparedRun, RunResult, inputs_of, not_run, traced
from worker.pool.child_outcome import Ending
from worker.pool.retry import run_task
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
            result.ir = questionable(ir.text)
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
            outcome = await run_task(
                self._session,
                order.profile,
                header_of(order),
                body,
                deadline_s=step.limit_s,
                stages=stages_of(run),
            )
        if outcome.ending is Ending.DEADLINE:
            step.timed_out()
        return result_of(outcome, run, self.launch.timeout_s, order)

    def _not_compiled(self, job: CompileJob, failed: IrFailed, started: float) -> RunResult:
        """Return that there is no run, and keep the compilation that says why."""
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
