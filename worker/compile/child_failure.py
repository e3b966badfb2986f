"""Names a failure for each way in which a child can end abnormally.

Pure: another child reads the compiler's log. Only the line that a killed child was at is looked up
here.
"""

import re
import signal as signals
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from compiler.diagnostic import Diagnostic, Span, diagnostic, excerpt
from compiler.job import CompileJob
from compiler.messages.orders import BackOrder, Order
from worker.compile.progress import CompilationFailed
from worker.compile.reports import FailureReport
from worker.pool.child_outcome import ChildOutcome, Ending
from worker.pool.pool import killed_from_outside
from worker.sandbox.profile import PROFILES

_COMPLAINT = b"error: "
AnyOrder = Order | type[Order]


def runs_user_code(order: AnyOrder) -> bool:
    """Return True if the child runs user code, which may be why it ended as it did."""
    return order.profile != BackOrder.profile


def explains_itself_in_log(order: AnyOrder, outcome: ChildOutcome) -> bool:
    """Return True if the log has the error: MLIR and LLVM write that to stderr only."""
    if outcome.failure is not None:
        slug = outcome.failure.get("slug")
        return slug == "lowering_failed" or (
            slug == "assembler_failed" and not runs_user_code(order)
        )
    if runs_user_code(order):
        return False
    if outcome.result is not None:
        return _COMPLAINT in outcome.stderr
    return outcome.ending in (Ending.SIGNAL, Ending.SILENT)


_KILLED = (
    "Its process was killed from outside again and again, as the kernel does when the worker's "
    "machine runs out of memory. Post it again, or give workers more memory or fewer slots."
)


def failure_of(
    order: AnyOrder,
    outcome: ChildOutcome,
    job: CompileJob,
    stages: dict[str, bytes],
    limit_s: float,
    logged: Sequence[Diagnostic] = (),
) -> CompilationFailed:
    """Return the failure that `outcome` of a child with `order` means, which had `limit_s`.

    `stages` are those reached before, `logged` are the diagnostics in its log.
    """
    stage = stage_under_way(order, job, stages)
    violation = violation_of(outcome)
    if violation is not None and (runs_user_code(order) or outcome.ending is Ending.FLOOD):
        return CompilationFailed("sandbox_violation", violation, [_diagnostic(stage, violation)])
    match outcome.ending:
        case Ending.DEADLINE:
            began = (
                f"The compilation did not finish within timeout_s = {limit_s:g} s; "
                f"it ran out of time in stage {stage}"
            )
            if stage == "frontend" and (span := running_line(outcome.stderr)) is not None:
                return _timed_out(began, span, job)
            detail = f"{began}. Smaller tiles or fewer unrolled iterations compile faster."
            return CompilationFailed("compile_timeout", detail, [_diagnostic(stage, detail)])
        case Ending.SIGNAL if killed_from_outside(outcome, order.profile):
            return CompilationFailed("worker_lost", _KILLED, [_diagnostic(stage, _KILLED)])
        case Ending.SIGNAL if outcome.signal == signals.SIGKILL and (
            span := running_line(outcome.stderr)
        ):
            most_s = PROFILES[order.profile].limits.cpu_s
            return _timed_out(f"The source took longer than {most_s} s of CPU", span, job)
        case Ending.SIGNAL if runs_user_code(order):
            detail = f"The process that ran the source was killed by {signal_name(outcome)}."
            return CompilationFailed("compiler_crashed", detail, [_diagnostic(stage, detail)])
        case Ending.GARBAGE:
            return broken_report(order, outcome.detail)
        case Ending.SANDBOX:
            detail = (
                "The sandbox could not be set up, so nothing was run. Tell the operator of this "
                "service."
            )
            return CompilationFailed("worker_lost", detail, [_diagnostic(stage, detail)])
    return _crash(stage, outcome, logged)


_RUNNING = re.compile(rb'  File "/kernel/([^"\n]{1,300})", line ([0-9]{1,7}) in ')
_STACK = b"(most recent call first)"


def running_line(stderr: bytes) -> Span | None:
    """Return the line of the user's that ran when a front child last wrote its lines to stderr.

    Code that imitates that only misleads its author.
    """
    at = stderr.rfind(_STACK)
    match = _RUNNING.search(stderr, at) if at >= 0 else None
    if match is None:
        return None
    return Span(match[1].decode(errors="replace"), int(match[2]))


def _timed_out(began: str, span: Span, job: CompileJob) -> CompilationFailed:
    detail = f"{began}, at {span.file}:{span.line}. Move work out of module level."
    shown = excerpt(job.texts.get(span.file, "").split("\n"), span)
    error = diagnostic("error", "frontend", detail, span=span, excerpt=shown)
    return CompilationFailed("compile_timeout", detail, [error])


def violation_of(outcome: ChildOutcome) -> str | None:
    """Describe what a child that ran user code did against the rules; None if nothing.

    A signal other than the call filter's may come from a bug of the compiler.
    """
    match outcome.ending:
        case Ending.FLOOD:
            return "The source wrote more output than is allowed, so it was killed. Print less."
        case Ending.SIGNAL if outcome.signal == signals.SIGSYS:
            return f"The process that ran the source was killed by {signal_name(outcome)}."
        case Ending.SILENT:
            return (
                "The source ended its own process before the compiler was done, for example with "
                "os._exit. Remove that call."
            )
        case Ending.GARBAGE:
            return misreported(outcome.detail)
    return None


def misreported(detail: str) -> str:
    """Describe a child that ran user code and sent an invalid report."""
    return f"The process that ran the source sent an invalid report ({detail})."


def reported_failure(
    failure: FailureReport, outcome: ChildOutcome, logged: Sequence[Diagnostic] = ()
) -> CompilationFailed:
    """Return the failure that a task reported itself; `logged` are the diagnostics in its log."""
    diagnostics = _placed(failure.diagnostics, _with_errors(logged))
    if failure.slug == "assembler_failed":  # LLVM's complaint is the cause, the assembler's follows
        diagnostics = [*_with_errors(logged), *failure.diagnostics]
    is_placed = any(item.line is not None for item in diagnostics[:1])
    is_lowering = failure.slug == "lowering_failed" and bool(outcome.stderr or is_placed)
    in_log = is_lowering or bool(_with_errors(logged))
    message = diagnostics[0].message if in_log and diagnostics else failure.message
    return CompilationFailed(
        failure.slug,
        message,
        diagnostics or [_diagnostic("frontend", message)],
        reason=failure.reason,
        needs=failure.needs,
    )


def warnings_of(logged: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Return errors that LLVM logged and then ignored, as warnings.

    They have no excerpts: other sources with the same IR share this result.
    """
    return [
        replace(
            item,
            severity="warning",
            excerpt=None,
            message=f"{item.message}; Triton went on, so the machine code may be wrong",
        )
        for item in _with_errors(logged)
        if item.severity == "error"
    ]


def _with_errors(logged: Sequence[Diagnostic]) -> list[Diagnostic]:
    return list(logged) if any(item.severity == "error" for item in logged) else []


def _placed(own: Sequence[Diagnostic], logged: list[Diagnostic]) -> list[Diagnostic]:
    """Return the log's diagnostics; an error that the task found the place of comes first."""
    if not logged or all(item.line is None for item in own):
        return logged or list(own)
    known = {item.message for item in own}
    return [*own, *(item for item in logged if item.message not in known)]


def broken_report(order: AnyOrder, detail: str) -> CompilationFailed:
    """Return the failure of a child with an invalid report: user code may write to its pipe."""
    if not runs_user_code(order):
        return CompilationFailed(
            "compiler_crashed", f"The compiler sent an invalid report: {detail}"
        )
    message = misreported(detail)
    return CompilationFailed("sandbox_violation", message, [_diagnostic("frontend", message)])


def _crash(stage: str, outcome: ChildOutcome, logged: Sequence[Diagnostic]) -> CompilationFailed:
    if b"bad_alloc" in outcome.stderr:
        detail = f"The compiler ran out of memory in stage {stage}; smaller tiles need less."
        return CompilationFailed("memory_exceeded", detail, [_diagnostic(stage, detail)])
    errors = _with_errors(logged)
    why = f": {errors[0].message}" if errors else ""
    detail = (
        f"Triton's compiler crashed ({signal_name(outcome)}) in stage {stage}{why}. "
        "The earlier stages are kept. Try another target or another version of Triton."
    )
    return CompilationFailed("compiler_crashed", detail, errors or [_diagnostic(stage, detail)])


def signal_name(outcome: ChildOutcome) -> str:
    """Return the name of the signal that ended a child, or else of its ending."""
    if outcome.signal is None:
        return outcome.ending.value
    try:
        return signals.Signals(outcome.signal).name
    except ValueError:  # one of real time has none, and a child may raise any
        return f"signal {outcome.signal}"


def stage_under_way(order: AnyOrder, job: CompileJob, stages: dict[str, bytes]) -> str:
    """Return the stage that a child with `order` was at when it had reached `stages`."""
    if runs_user_code(order):
        return "ttir" if "source" in stages else "frontend"
    names = job.target.stages
    reached = [index for index, stage in enumerate(names) if stage in stages]
    if not reached and job.ir is not None:
        return job.ir.language
    # a back child begins with ttgir, even where a language has no ttir
    first = names.index("ttgir") if order.task == BackOrder.task else 0
    return names[min(max(max(reached, default=-1) + 1, first), len(names) - 1)]


def _diagnostic(stage: Any, message: str) -> Diagnostic:
    return Diagnostic(severity="error", stage=stage, message=message)
