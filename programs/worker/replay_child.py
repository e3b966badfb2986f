"""Has a child replay a program on the CPU device, and reads its report or its ending.

No user Python runs in the child, but its tape may be forged, so its report is checked.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any

from pydantic import Field

from compiler.messages.orders import IrBounds
from compiler.messages.wire import header_of
from compiler.target import Target
from jobs.deadline import Deadline
from launch.messages import MAX_BATCH_ELEMENTS, Finding
from launch.request.verdict import RunEnding
from programs.program_job import program_problem
from programs.replay.replay_order import (
    CALLS,
    Check,
    Experiment,
    InsensitiveOutput,
    KernelText,
    ReplayOrder,
    ReplayReport,
    input_stage,
    op_stage,
    output_stage,
    precise_stage,
    unwritten_stage,
)
from programs.tape.schema import MAX_CHANGED_PARAMETERS, MAX_OPS, Tape, changeable, tensors_of
from programs.worker.replayed import Replayed, SentTensors, TensorIndex, calls_of, state_of
from worker.compile.child_failure import misreported
from worker.compile.message_limits import MessageLimits
from worker.compile.reports import Count, Malformed, Message, Report
from worker.launch.kernel_ir import KernelIr
from worker.launch.launch_reports import MAX_FINDINGS, TensorFinding
from worker.pool.child_outcome import ChildOutcome, Ending
from worker.pool.frame import FrameError
from worker.pool.pool import Pool, killed_from_outside
from worker.pool.shared_bytes import Body


@dataclass(frozen=True, slots=True)
class ProgramToReplay:
    """A parsed tape, and everything that its replay needs."""

    tape: Tape
    text: bytes
    """The JSON that the tape was read from."""
    kernels: Mapping[int, KernelIr]
    """The IR of each launch, by its index among the ops."""
    inputs_text: bytes | None
    """The tape whose ops make the inputs; None: this tape's own do."""
    files: Sequence[str]
    role: str
    """The program that problems name: `candidate` or `reference`."""
    variants: Mapping[int, int] = field(default_factory=dict)
    """The number of the variant that runs, by the index of each autotuned launch."""


@dataclass(frozen=True, slots=True)
class ReplaySettings:
    """Settings of a replay."""

    target: Target
    seed: int
    memory_bytes: int
    """Limit of the memory of all tensors of a program."""
    checks: Sequence[Check] = ()
    batch_elements: int = MAX_BATCH_ELEMENTS
    ir_bounds: IrBounds = field(default_factory=IrBounds)
    experiment: Experiment | None = None


_Digest = Annotated[str, Field(max_length=64)]
_TimeUs = Annotated[float, Field(ge=0)]
_LIMITS = MessageLimits({str: Annotated[str, Field(max_length=300)], int: Count})
_INSENSITIVE: Any = _LIMITS.within(InsensitiveOutput, difference=float)
read_replay_report = _LIMITS.reader(
    ReplayReport,
    may_lack=["op_times_us", "insensitive"],
    findings=Annotated[list[TensorFinding], Field(max_length=MAX_FINDINGS)],
    parameters=Annotated[list[_Digest | None], Field(max_length=MAX_CHANGED_PARAMETERS)],
    op_times_us=Annotated[list[_TimeUs], Field(max_length=MAX_OPS)],
    insensitive=Annotated[list[_INSENSITIVE], Field(max_length=MAX_OPS)],
)


class ReplayFailure(Report):
    """The failure that a replay reported."""

    slug: Annotated[str, Field(max_length=64)]
    message: Message


async def replay(
    pool: Pool,
    program: ProgramToReplay,
    settings: ReplaySettings,
    timeout_s: float,
    deadline: Deadline,
) -> Replayed:
    """Replay a program. Raises DeadlinePassed, ZygoteError.

    If the child crashes, another child replays it and announces each op, so that the finding can
    name the line of the crash.
    """
    step = deadline.step(timeout_s)
    try:
        outcome = await _run(pool, program, settings, step.limit_s, announce=False)
    except FrameError as error:
        replayed = Replayed()
        detail = f"The kernels and parameters are too large for one replay ({error})."
        replayed.fail(program_problem("invalid_argument", detail, program=program.role))
        return replayed
    if outcome.ending is Ending.DEADLINE:
        step.timed_out()
    replayed = Replayed(stdout=outcome.stdout.decode(errors="replace"))
    profile = ReplayOrder.profile
    is_plain = settings.experiment is None
    if is_plain and outcome.ending is Ending.SIGNAL and not killed_from_outside(outcome, profile):
        again = await _run(pool, program, settings, deadline.limit_s(timeout_s), announce=True)
        replayed.end(RunEnding.CRASHED, _crashed_at(_last_op(again), program.tape, outcome))
        return replayed
    try:
        if outcome.result is not None:
            report = read_replay_report(outcome.result)
            _take(replayed, report, outcome, program.tape, calls=_calls(settings.experiment))
        elif outcome.failure is not None:
            take_failure(replayed, ReplayFailure.read(outcome.failure), program.role)
        else:
            _take_ending(replayed, outcome, timeout_s, program.role)
    except Malformed as error:
        detail = misreported(str(error))
        replayed.fail(program_problem("replay_crashed", detail, program=program.role))
    return replayed


def _calls(experiment: Experiment | None) -> int:
    """Return the number of calls that a replay makes."""
    return len(CALLS) if experiment is None or experiment.values is not None else 1


async def _run(
    pool: Pool,
    program: ProgramToReplay,
    settings: ReplaySettings,
    limit_s: float,
    *,
    announce: bool,
) -> ChildOutcome:
    order, body = _order_of(program, settings, limit_s, announce=announce)
    awaited = _stages(program.tape)
    if announce:
        awaited |= {op_stage(index) for index in range(len(program.tape.ops))}
    return await pool.run(order.profile, header_of(order), body, deadline_s=limit_s, stages=awaited)


def _order_of(
    program: ProgramToReplay, settings: ReplaySettings, limit_s: float, *, announce: bool
) -> tuple[ReplayOrder, bytes]:
    parts = [program.text, program.inputs_text or b""]
    size = sum(map(len, parts))
    kernels: dict[str, KernelText] = {}
    names: dict[str, str] = {}  # short, as there may be 200,000 launches
    for kernel in program.kernels.values():
        if kernel.key not in names:
            names[kernel.key] = str(len(names))
            place = (size, len(kernel.text))
            kernels[names[kernel.key]] = KernelText(
                ir=place,
                stage=kernel.stage,
                parameters=list(kernel.parameters),
                fp_fusion=kernel.fp_fusion,
            )
            parts.append(kernel.text)
            size += len(kernel.text)
    inputs = program.inputs_text
    order = ReplayOrder(
        tape=(0, len(program.text)),
        inputs_tape=None if inputs is None else (len(program.text), len(inputs)),
        kernels=kernels,
        launches=[names[program.kernels[index].key] for index in sorted(program.kernels)],
        variants=_variants(program),
        target=settings.target,
        files=list(program.files),
        seed=settings.seed,
        checks=list(settings.checks),
        memory_bytes=settings.memory_bytes,
        batch_elements=settings.batch_elements,
        ir_bounds=settings.ir_bounds,
        limit_s=limit_s,
        announce=announce,
        experiment=settings.experiment,
    )
    return order, b"".join(parts)


def _variants(program: ProgramToReplay) -> Sequence[int]:
    if not any(program.variants.values()):
        return ()
    return [program.variants.get(index, 0) for index in sorted(program.kernels)]


def _stages(tape: Tape) -> set[str]:
    names = set()
    for call in range(len(CALLS)):
        for position in range(_returned(tape, call)):
            names |= {output_stage(call, position), unwritten_stage(call, position)}
        names |= {input_stage(call, position) for position in range(_changeable(tape, call))}
    return names | {precise_stage(position) for position in range(_returned(tape, 0))}


def _take(
    replayed: Replayed, report: ReplayReport, outcome: ChildOutcome, tape: Tape, calls: int
) -> None:
    """Take the report of a replay that was to run `calls` calls. Raises Malformed."""
    replayed.calls += calls_of(tape, _sent(tape, outcome))
    replayed.state = state_of(tape)
    replayed.ending = RunEnding(report.ending)
    replayed.findings = list(report.findings)
    replayed.peak_bytes = report.peak_bytes
    replayed.deterministic = report.deterministic
    replayed.parameters = report.parameters
    replayed.op_times_us = report.op_times_us
    if any(output.position >= _returned(tape, 0) for output in report.insensitive):
        raise Malformed("it names an output that the program does not return")
    replayed.insensitive = report.insensitive
    stages = {stage.name: stage.body for stage in outcome.stages}
    for position in range(_returned(tape, 0)):
        if precise_stage(position) in stages:
            replayed.precise[position] = stages[precise_stage(position)]
    if report.ending == "finished" and not report.findings and len(replayed.calls) < calls:
        raise Malformed("it finished, but some outputs are missing")


def _sent(tape: Tape, outcome: ChildOutcome) -> SentTensors:
    stages = {stage.name: stage.body for stage in outcome.stages}

    def sent(
        name: Callable[[int, int], str], most: Callable[[int], int]
    ) -> dict[TensorIndex, Body]:
        places = ((call, place) for call in range(len(CALLS)) for place in range(most(call)))
        return {place: stages[name(*place)] for place in places if name(*place) in stages}

    returned, changeable = partial(_returned, tape), partial(_changeable, tape)
    return SentTensors(
        sent(output_stage, returned), sent(unwritten_stage, returned), sent(input_stage, changeable)
    )


def _returned(tape: Tape, call: int) -> int:
    """Return the number of tensors that a call returns."""
    return len(tensors_of((tape.outputs, tape.outputs2)[call]))


def _changeable(tape: Tape, call: int) -> int:
    return len(changeable(tape, call))


def take_failure(replayed: Replayed, failure: ReplayFailure, role: str) -> None:
    """Turn the failure of a replay into an ending with a finding, or into a problem."""
    match failure.slug:
        case "memory_exceeded":
            message = "The replay needs more memory than its process may use. Use smaller inputs."
            replayed.end(RunEnding.OUT_OF_MEMORY, Finding(kind="out_of_memory", message=message))
        case "check_timeout":
            replayed.end(RunEnding.TIMEOUT, Finding(kind="timeout", message=failure.message))
        case "forged_tape":
            detail = f"The tape is invalid: {failure.message}."
            replayed.fail(program_problem("invalid_tape", detail, program=role))
        case "unsupported_op":
            problem = program_problem(
                "not_recordable", failure.message, program=role, reason="unsupported_op"
            )
            replayed.fail(problem)
        case "compiler_crashed":
            replayed.fail(program_problem("replay_crashed", failure.message, program=role))
        case _:
            replayed.fail(program_problem(failure.slug, failure.message, program=role))


def _take_ending(replayed: Replayed, outcome: ChildOutcome, timeout_s: float, role: str) -> None:
    if outcome.ending is Ending.DEADLINE:
        message = f"The replay did not end within timeout_s = {timeout_s:g} s."
        replayed.end(RunEnding.TIMEOUT, Finding(kind="timeout", message=message))
        return
    lost = outcome.ending is Ending.SANDBOX or killed_from_outside(outcome, ReplayOrder.profile)
    slug = "worker_lost" if lost else "replay_crashed"
    what = "was lost" if lost else "ended unexpectedly"
    detail = f"The process that replayed the program {what} ({outcome.detail})."
    replayed.fail(program_problem(slug, detail, program=role))


def _last_op(outcome: ChildOutcome) -> int | None:
    """Return the index of the op that a child announced last."""
    announced = [stage.name for stage in outcome.stages if stage.name.startswith("op:")]
    return int(announced[-1].removeprefix("op:")) if announced else None


def _crashed_at(index: int | None, tape: Tape, outcome: ChildOutcome) -> Finding:
    if index is None:
        message = f"The process that replayed the program ended unexpectedly ({outcome.detail})."
        return Finding(kind="crashed", message=message)
    op = tape.ops[index]
    name = getattr(op, "op", "a launch")
    message = f"The process that replayed the program ended in {name} ({outcome.detail})."
    file, line = (op.place.file, op.place.line) if op.place is not None else (None, None)
    return Finding(kind="crashed", file=file, line=line, message=message)
