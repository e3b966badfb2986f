"""Has a child record one program, and checks its answer.

The program's code ran in that child, so it may have forged anything that the child sends. The
tape is parsed as hostile bytes, and every other ending maps to a named problem. Before a worker
takes programs, it records a known one: with a torch whose internals the recorder does not know,
that fails or gives another tape.
"""

import asyncio
import json
from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from compiler.messages.wire import header_of
from jobs.deadline import Deadline, DeadlinePassed
from programs.program_job import CANDIDATE, program_problem
from programs.program_record import ProgramFlag, ProgramProblem
from programs.recorder.record_order import MOST_ATTEMPTS, REASONS, SLUGS, RecordOrder
from programs.tape.read_tape import read_tape
from programs.tape.schema import MAX_LINE, AtenOp, InvalidTape, Tape, TapeLaunch
from programs.worker.program_children import ENVIRONMENT
from worker.compile.child_failure import misreported, signal_name, violation_of
from worker.compile.reports import FailureReport, Malformed, Message, Report, read_report
from worker.pool.child_outcome import ChildOutcome, Ending
from worker.pool.pool import Pool, killed_from_outside

TAPE = "tape"
_MAX_FILE_CHARS = 256
_KNOWN_PROGRAM = """
import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, 2 * tl.load(x + offsets, mask), mask)


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = torch.empty_like(x)
        double_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
        return out

    @staticmethod
    def backward(ctx, gradient):
        return Double.apply(gradient)


def custom_kernel(x, weight):
    weight = weight.clone().requires_grad_()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        out = Double.apply(x.requires_grad_() @ weight)
    out.float().sum().backward()
    return out, weight.grad
"""
KNOWN_ORDER = RecordOrder(
    entries=[{"kind": "function", "name": "custom_kernel"}],
    inputs=[
        {"tensor": {"dtype": "fp32", "shape": [4, 16], "device": "cuda"}},
        {"tensor": {"dtype": "fp32", "shape": [16, 8], "device": "cuda"}},
    ],
)
KNOWN_BODY = json.dumps({"source": _KNOWN_PROGRAM, "files": {}}).encode()
_LAUNCHES = 4
"""Forward and backward, in two calls."""
_OPS = {"aten.mm.default": 6, "aten.sum.default": 2}
WITHIN_S = 60.0
_SET_BY_TORCH = "TORCHINDUCTOR_CACHE_DIR"


@dataclass(frozen=True, slots=True)
class ProgramTape:
    """A tape, and the JSON that it was read from."""

    tape: Tape
    text: bytes
    inputs_seed: int | None = None
    """The seed of the plain numbers among its inputs; None if it draws none."""
    attempts: tuple[ProgramFlag, ...] = ()
    """A flag for each attempt to leave the sandbox."""


class NotRecorded(Exception):
    """There is no tape; `problem` gives the reason and the program."""

    def __init__(self, problem: ProgramProblem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


async def record_program(
    pool: Pool, order: RecordOrder, body: bytes, program: str, timeout_s: float, deadline: Deadline
) -> ProgramTape:
    """Return the tape of a `program`: `candidate` or `reference`.

    Raises NotRecorded, DeadlinePassed, ZygoteError.
    """
    step = deadline.step(timeout_s)
    outcome = await pool.run(
        order.profile, header_of(order), body, deadline_s=step.limit_s, stages={TAPE}
    )
    if outcome.ending is Ending.DEADLINE:
        step.timed_out()
    if outcome.result is None:
        raise NotRecorded(_problem_of(outcome, order, program, timeout_s))
    text, report = _sent(outcome, program)
    try:
        # in a thread: a long tape takes seconds to read
        tape = await asyncio.to_thread(read_tape, text)
    except InvalidTape as forged:
        detail = f"The process that recorded the program sent an invalid tape: {forged}."
        raise NotRecorded(program_problem("invalid_tape", detail, program=program)) from None
    attempts = tuple(map(_flag, report.attempts))
    return ProgramTape(tape, text, order.inputs_seed if report.draws_inputs else None, attempts)


class _Unrecordable(Report):
    """The recorder's reason for refusing a program."""

    reason: Annotated[str, Field(max_length=64)]
    detail: Message
    file: Annotated[str, Field(max_length=_MAX_FILE_CHARS)] | None
    line: Annotated[int, Field(ge=0, le=MAX_LINE)] | None


class _Attempt(Report):
    what: Message
    file: Annotated[str, Field(max_length=_MAX_FILE_CHARS)]
    line: Annotated[int, Field(ge=0, le=MAX_LINE)]


class _RecordReport(Report):
    not_recordable: _Unrecordable | None
    draws_inputs: bool
    attempts: Annotated[list[_Attempt], Field(max_length=MOST_ATTEMPTS)]


def _flag(attempt: _Attempt) -> ProgramFlag:
    message = (
        f"the program tried {attempt.what} while it was recorded, which the sandbox refuses; "
        "it gets its inputs, and needs nothing else"
    )
    return ProgramFlag(
        kind="sandbox_attempt", message=message, file=attempt.file, line=attempt.line
    )


def _sent(outcome: ChildOutcome, program: str) -> tuple[bytes, _RecordReport]:
    """Return the tape that was sent, and the report of its recording.

    Raises NotRecorded if there is none.
    """
    try:
        report = read_report(_RecordReport, outcome.result or {})
    except Malformed as error:
        raise NotRecorded(_invalid(str(error), program)) from None
    if report.not_recordable is not None:
        raise NotRecorded(_refusal(report.not_recordable, program))
    if not outcome.stages:
        raise NotRecorded(_invalid("there is no tape", program))
    return outcome.stages[0].body, report


def _refusal(why: _Unrecordable, program: str) -> ProgramProblem:
    known = REASONS.get(why.reason)
    if known is None:
        return _invalid("an unknown reason", program)
    is_slug = why.reason in SLUGS
    return program_problem(
        why.reason if is_slug else "not_recordable",
        f"{known}: {why.detail}" if why.detail else f"{known}.",
        program=program,
        reason=None if is_slug else why.reason,
        file=why.file,
        line=why.line,
    )


def _invalid(detail: str, program: str) -> ProgramProblem:
    return program_problem("invalid_tape", misreported(detail), program=program)


def _problem_of(
    outcome: ChildOutcome, order: RecordOrder, program: str, timeout_s: float
) -> ProgramProblem:
    """Return the problem of a program whose recorder sent nothing."""
    slug, detail = _named(outcome, order, timeout_s)
    return program_problem(slug, detail, program=program)


def _named(outcome: ChildOutcome, order: RecordOrder, timeout_s: float) -> tuple[str, str]:
    if outcome.ending is Ending.SANDBOX:
        return "worker_lost", "A layer of the sandbox failed, so nothing was recorded."
    if killed_from_outside(outcome, order.profile):
        detail = f"The process that recorded the program died ({outcome.detail}); post it again."
        return "worker_lost", detail
    if outcome.ending is Ending.DEADLINE:
        return "record_timeout", (
            f"Recording did not end within timeout_s = {timeout_s:g} s. Recording computes no "
            "tensor values, so the time went into the program's Python: look for a long loop."
        )
    if (violation := violation_of(outcome)) is not None:
        return "sandbox_violation", violation
    if outcome.failure is not None:
        return _of_failure(outcome.failure)
    return (
        "recorder_crashed",
        f"The process that recorded the program ended by {signal_name(outcome)}.",
    )


def _of_failure(failure: dict[str, Any]) -> tuple[str, str]:
    try:
        found = read_report(FailureReport, failure)
    except Malformed as error:
        return "invalid_tape", misreported(str(error))
    if found.slug == "memory_exceeded":
        return "recorder_crashed", (
            "Recording the program needs more memory than its process may use. Tensors take no "
            "memory there, so the program's Python does."
        )
    return "recorder_crashed", f"The recorder failed: {found.message}"


def fault_of(tape: Tape) -> str | None:
    """Return the error in the tape of this program; None if the child records correctly."""
    launches = [op for op in tape.ops if isinstance(op, TapeLaunch)]
    if len(launches) != _LAUNCHES:
        return f"it has {len(launches)} launches instead of {_LAUNCHES}"
    counts = Counter(op.op for op in tape.ops if isinstance(op, AtenOp))
    for name, number in _OPS.items():
        if counts[name] != number:
            return f"it has {name} {counts[name]} times instead of {number}"
    if tape.tensors[launches[0].args["x"].id].dtype != "bf16":  # type: ignore[union-attr]
        return "it has no casts by autocast"
    return None


async def recorder_fault(pool: Pool) -> str | None:
    """Return why the children of `pool` cannot record programs; None if they can."""
    sandbox_fault = await _sandbox_fault(pool)
    if sandbox_fault is not None:
        return sandbox_fault
    try:
        recorded = await record_program(
            pool, KNOWN_ORDER, KNOWN_BODY, CANDIDATE, WITHIN_S, Deadline(WITHIN_S, what="self-test")
        )
    except (NotRecorded, DeadlinePassed) as error:
        return f"recording a known program failed: {error}"
    fault = fault_of(recorded.tape)
    return None if fault is None else f"the tape of a known program is wrong: {fault}"


async def _sandbox_fault(pool: Pool) -> str | None:
    environment = [*ENVIRONMENT, _SET_BY_TORCH]
    may = {"may_run_tools": False, "may_open": False}
    header = {"task": "selftest", **may, "environment": environment}
    outcome = await pool.run(KNOWN_ORDER.profile, header, b"", deadline_s=WITHIN_S)
    if outcome.ending is not Ending.OK or outcome.result is None:
        return f"the sandbox test did not finish: {outcome.ending} ({outcome.detail})"
    failed = outcome.result["failed"]
    if failed and not pool.facts["unsafe"]:
        return f"these checks of the sandbox failed: {', '.join(map(str, failed))}"
    return None
