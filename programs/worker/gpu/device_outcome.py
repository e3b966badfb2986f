"""Turns a launcher's outcome into the replay of a program. Pure.

No user Python runs in a launcher, but its tape may be forged, so its reports are checked.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field

from launch.messages import Finding
from launch.request.verdict import RunEnding, Verdict
from programs.gpu.program_order import COMPARE, MAX_CHANGED
from programs.program_job import CANDIDATE, REFERENCE, program_problem
from programs.program_record import ProgramProblem
from programs.replay.replay_order import CALLS
from programs.tape.schema import Op, Tape, TensorRef, by_path, changeable
from programs.worker.gpu.program_times import ProgramTimes, note_of, times_of
from programs.worker.replay_child import ReplayFailure, read_replay_report, take_failure
from programs.worker.replayed import (
    Replayed,
    SentTensors,
    TensorIndex,
    calls_left_on_gpu,
    calls_of,
    state_of,
    uncompared,
    uncompared_change,
)
from worker.compile.child_failure import misreported
from worker.compile.reports import Count, Malformed, Report
from worker.gpu.launcher.fault import JobFailed
from worker.gpu.launcher.launcher_order import BESIDE
from worker.gpu.supervisor.launcher_protocol import LaunchEnding, LaunchOutcome
from worker.launch.gpu.gpu_outcome import ENDINGS, find_assertion
from worker.launch.gpu.iteration_findings import STATE_KEPT
from worker.launch.launch_reports import ComparedOutput
from worker.pool.shared_bytes import Body

_Sent = TypeVar("_Sent")
_INPUT, _OP = "input:", "op-"
_MAX_NAMED = 3
_MAX_PATH_CHARS = 100


class _WrongTurn(Report):
    """A timed run whose outputs, by position, differ from the reference's on the same inputs."""

    repeat: Count
    call: Literal[0, 1]
    outputs: Annotated[list[Count], Field(min_length=1, max_length=8192)]


class _Variable(Report):
    """A global variable of a kernel's module; `changed` is None if that is unknown."""

    name: Annotated[str, Field(max_length=4096)]
    size_bytes: Count
    changed: bool | None


class _ModuleState(Report):
    """The state that a kernel's module could keep between its runs."""

    problem: Annotated[str, Field(max_length=4096)] | None = None
    variables: list[_Variable] = Field(default_factory=list)
    unnamed_bytes: Count | None = None
    uses_heap: bool | None = None


class DeviceReport(Report):
    """A launcher's report of a replay: what it adds to the ReplayReport that it also is."""

    variants: Annotated[dict[str, Count], Field(max_length=200_000)] = Field(default_factory=dict)
    module_state: Annotated[dict[str, _ModuleState], Field(max_length=4096)] = Field(
        default_factory=dict
    )
    """Those kernels that could keep state, by short name."""
    changed_storages: Annotated[list[Count], Field(max_length=MAX_CHANGED)] = Field(
        default_factory=list
    )
    """Memory that a call changed, although none of its ops may write it."""
    changed_elsewhere: bool = False
    """True if that was memory of its reference, or copies of inputs."""
    wrong_turns: Annotated[list[_WrongTurn], Field(max_length=16)] = Field(default_factory=list)


class ReferenceInputs(Report):
    """The inputs in a launcher's report of a reference that ran in its candidate's turn."""

    inputs_left: Annotated[list[str], Field(max_length=8192)] = Field(default_factory=list)
    """Places (`call:position`) of the inputs that it changed."""


class PairedReplayReport(Report):
    """A launcher's report of a program that it compared with its reference."""

    outputs: Annotated[dict[str, ComparedOutput], Field(max_length=8192)]
    """Outputs by call and position."""
    reference: dict[str, Any]


class FaultReport(Report):
    """A fault of a kernel; `op` is the launch that was probably running."""

    kind: Annotated[str, Field(max_length=64)]
    message: Annotated[str, Field(max_length=4096)]
    op: Count | None = None


def replayed_of(
    outcome: LaunchOutcome,
    tape: Tape,
    role: str,
    timeout_s: float,
    reference: Tape | None = None,
) -> Replayed:
    """Return the result of a replay that had `timeout_s`; problems name the program of `role`.

    With `reference`, that was timed in turns with it.
    """
    replayed = Replayed(stdout=outcome.stdout.decode(errors="replace"))
    try:
        _take(replayed, outcome, tape, role, timeout_s)
        if reference is not None and outcome.ending is LaunchEnding.OK:
            _take_turns(replayed, outcome.result or {}, tape, reference)
    except Malformed as error:
        detail = misreported(str(error))
        replayed = Replayed()
        replayed.fail(program_problem("replay_crashed", detail, program=role))
    return replayed


def both_of(
    outcome: LaunchOutcome, tape: Tape, reference: Tape, timeout_s: float
) -> tuple[Replayed, Replayed]:
    """Return the results of a program and its reference, which were compared on the GPU.

    A bad ending belongs to the one that was running. During the comparison that is neither, so
    the program gets a problem.
    """
    ours, theirs = Replayed(), Replayed()
    if outcome.ending is not LaunchEnding.OK:
        if COMPARE in outcome.stages:
            ours.fail(_not_compared(outcome))
        elif BESIDE in outcome.stages:
            theirs = replayed_of(outcome, reference, REFERENCE, timeout_s)
        else:
            ours = replayed_of(outcome, tape, CANDIDATE, timeout_s)
        return ours, theirs
    ours.stdout = outcome.stdout.decode(errors="replace")
    try:
        _take_both(ours, theirs, outcome, tape, reference)
    except Malformed as error:
        ours = Replayed()
        detail = misreported(str(error))
        ours.fail(program_problem("replay_crashed", detail, program=CANDIDATE))
    return ours, theirs


def _not_compared(outcome: LaunchOutcome) -> ProgramProblem:
    """Return why there is no verdict, although both programs finished."""
    failed = outcome.failure or {}
    why = str(failed.get("message") or outcome.detail or outcome.ending)
    detail = f"Both programs finished on the GPU, but their outputs were not compared: {why}"
    if failed.get("slug") == "out_of_memory":  # another attempt would fail, too
        return program_problem("invalid_argument", f"{detail} Make the inputs smaller.")
    return program_problem("worker_lost", detail)


def _take_both(
    ours: Replayed, theirs: Replayed, outcome: LaunchOutcome, tape: Tape, reference: Tape
) -> None:
    """Read the outcome's reports of both. Raises Malformed."""
    result = outcome.result or {}
    _take_numbers(ours, tape, result)
    doubt_times(ours)
    if result.get("compared") is None:
        if ours.ending is RunEnding.FINISHED and not ours.findings:
            raise Malformed("it finished, but nothing was compared")
        return
    report = PairedReplayReport.read(result["compared"])
    _take_numbers(theirs, reference, report.reference)
    names = ReferenceInputs.read(report.reference).inputs_left
    _, _, changed = _by_place(outcome)
    ours.calls += calls_left_on_gpu(tape, _placed(report.outputs), changed)
    if theirs.ending is RunEnding.FINISHED:
        left: dict[TensorIndex, Body | None] = _placed(dict.fromkeys(names))
        theirs.calls += calls_left_on_gpu(reference, {}, left)
    if not theirs.findings and (path := uncompared(ours.calls, theirs.calls)) is not None:
        detail = f"Output {path} is too large to leave the GPU, and the reference returns it at "
        detail += "another position, so it was not compared. Return outputs in the same order."
        ours.fail(program_problem("invalid_argument", detail, program=CANDIDATE))
    elif not theirs.findings and (path := uncompared_change(tape, ours.calls, theirs.calls)):
        detail = f"The program and its reference both change {path} in place. It was not compared, "
        detail += "because outputs are too large to leave the GPU. Return it, too, to compare it."
        ours.fail(program_problem("invalid_argument", detail, program=CANDIDATE))


def doubt_times(replayed: Replayed) -> None:
    """Drop the times if timed runs returned other outputs, since none of these were compared."""
    timing = replayed.times.timing if replayed.times is not None else None
    if timing is not None and timing.differing_repeats:
        replayed.times = None
        replayed.untimed = (
            f"{timing.differing_repeats} of {timing.checked_repeats} timed runs returned other "
            "outputs than the checked calls, and only these were compared with the reference."
        )


def _take(
    replayed: Replayed, outcome: LaunchOutcome, tape: Tape, role: str, timeout_s: float
) -> None:
    """Read an outcome. Raises Malformed."""
    match outcome.ending:
        case LaunchEnding.OK:
            _take_report(replayed, outcome, tape)
        case LaunchEnding.FAULT:
            _take_fault(replayed, FaultReport.read(outcome.fault or {}), tape)
        case LaunchEnding.DEADLINE:
            message = f"The replay did not end within timeout_s = {timeout_s:g} s."
            replayed.end(RunEnding.TIMEOUT, Finding(kind="timeout", message=message))
        case LaunchEnding.FAILURE:
            _take_failure(replayed, ReplayFailure.read(outcome.failure or {}), role)
        case _:
            op = _last_op(outcome, tape)
            message = f"The launcher of the program ended unexpectedly ({outcome.detail})"
            where = f", in {getattr(op, 'op', 'a launch')}." if op is not None else "."
            replayed.end(RunEnding.CRASHED, _finding("crashed", message + where, op))


def _take_report(replayed: Replayed, outcome: LaunchOutcome, tape: Tape) -> None:
    result = outcome.result or {}
    replayed.calls += calls_of(tape, SentTensors(*_by_place(outcome)))
    _take_numbers(replayed, tape, result)
    finished = replayed.ending is RunEnding.FINISHED
    if finished and not replayed.findings and not replayed.is_whole:
        raise Malformed("it finished, but some outputs are missing")


def _take_numbers(replayed: Replayed, tape: Tape, result: Mapping[str, Any]) -> None:
    report, device = read_replay_report(result), DeviceReport.read(result)
    replayed.ending = RunEnding(report.ending)
    replayed.findings = list(report.findings)
    replayed.peak_bytes = report.peak_bytes
    replayed.deterministic = report.deterministic
    replayed.parameters = report.parameters
    replayed.state = state_of(tape)
    replayed.variants = {_number(op): number for op, number in device.variants.items()}
    replayed.kept = _state_kept(tape, device.changed_storages, elsewhere=device.changed_elsewhere)
    replayed.module_states = [state.model_dump() for state in device.module_state.values()]
    replayed.times = _times(tape, result)
    replayed.untimed = note_of(result) if replayed.times is None else ""


def _state_kept(tape: Tape, changed: Sequence[int], *, elsewhere: bool) -> list[Finding]:
    """Return a finding about memory that a call changed without an op that may write it."""
    if any(storage >= len(tape.storages) for storage in changed):
        raise Malformed("a call changed a storage that the tape does not have")
    names = [_described(tape, storage) for storage in changed[:_MAX_NAMED]]
    if elsewhere:
        names.append("memory that is not its own")
    if not names:
        return []
    more = f" and {len(changed) - _MAX_NAMED} more" if len(changed) > _MAX_NAMED else ""
    message = (
        f"A call changed memory that none of its ops takes: {', '.join(names)}{more}. A kernel "
        "reached it behind an address that it loaded or computed, and could keep results there."
    )
    return [Finding(kind=STATE_KEPT, message=message)]


def _described(tape: Tape, storage: int) -> str:
    """Return the name of a storage for messages: a parameter, an input, or where it was made."""
    for call in range(len(CALLS)):
        for path, id_ in changeable(tape, call):
            if tape.tensors[id_].storage == storage:
                return path[:_MAX_PATH_CHARS]
    for op in tape.ops:
        ids = (id_ for id_ in getattr(op, "outputs", ()) if id_ is not None)
        if op.place is not None and any(tape.tensors[id_].storage == storage for id_ in ids):
            return f"a tensor made in line {op.place.line} of {op.place.file}"
    return "a constant"


def _times(tape: Tape, result: Mapping[str, Any]) -> ProgramTimes | None:
    try:
        return times_of(tape, result)
    except JobFailed as error:
        raise Malformed(str(error)) from error


def _take_turns(replayed: Replayed, result: dict[str, Any], tape: Tape, reference: Tape) -> None:
    """Read the times of a reference, and the turns whose outputs differ. Raises Malformed."""
    report = DeviceReport.read(result)
    turns = result.get("turns")
    if turns is not None and not isinstance(turns, dict):
        raise Malformed("the times of a reference are not an object")
    replayed.reference_times = None if turns is None else _times(reference, turns)
    if replayed.reference_times is None:
        replayed.reference_untimed = note_of(result)
    replayed.wrong_turns = [_not_matching(turn, tape) for turn in report.wrong_turns[:1]]


def _not_matching(turn: _WrongTurn, tape: Tape) -> Finding:
    """Return the finding for a timed run that did not match. Raises Malformed."""
    returned = by_path((tape.outputs, tape.outputs2)[turn.call])
    paths = [path for path, value in returned.items() if isinstance(value, TensorRef)]
    if max(turn.outputs) >= len(paths):
        raise Malformed("a timed run returned an output that the tape does not have")
    named = ", ".join(paths[at][:_MAX_PATH_CHARS] for at in turn.outputs[:_MAX_NAMED])
    message = (
        f"Timed run {turn.repeat} does not match the reference in output {named}. Both had the "
        "same new inputs. The program is right for some inputs only, it keeps state between calls, "
        "or its kernels race."
    )
    return Finding(kind=str(Verdict.MISMATCH), argument=paths[turn.outputs[0]], message=message)


def _by_place(
    outcome: LaunchOutcome,
) -> tuple[dict[TensorIndex, Body], dict[TensorIndex, Body], dict[TensorIndex, Body]]:
    """Return outputs, bitmaps of their unwritten elements, and changed inputs. Raises Malformed.

    They were sent as `0:1` (the first call's second output), and as `input:0:1`.
    """
    outputs = {name: body for name, body in outcome.outputs.items() if not name.startswith(_INPUT)}
    inputs = {
        name.removeprefix(_INPUT): body
        for name, body in outcome.outputs.items()
        if name.startswith(_INPUT)
    }
    return _placed(outputs), _placed(outcome.unwritten), _placed(inputs)


def _placed(sent: Mapping[str, _Sent]) -> dict[TensorIndex, _Sent]:
    bodies = {}
    for name, body in sent.items():
        call, _, position = name.partition(":")
        bodies[_number(call), _number(position)] = body
    return bodies


def _number(written: str) -> int:
    if not (written.isascii() and written.isdigit() and len(written) < 10):
        raise Malformed("the name of an output is not a place like 0:1")
    return int(written)


def _take_fault(replayed: Replayed, fault: FaultReport, tape: Tape) -> None:
    replayed.ending = ENDINGS.get(fault.kind, RunEnding.CRASHED)
    op = tape.ops[fault.op] if fault.op is not None and fault.op < len(tape.ops) else None
    finding = _finding(fault.kind, fault.message, op)
    if fault.kind == "assertion_failed":
        finding = find_assertion(replayed.stdout, 1) or finding
    replayed.findings.append(finding)


def _take_failure(replayed: Replayed, failure: ReplayFailure, role: str) -> None:
    match failure.slug:
        case "out_of_memory":
            finding = Finding(kind="out_of_memory", message=failure.message)
            replayed.end(RunEnding.OUT_OF_MEMORY, finding)
        case "malformed_job":
            replayed.fail(program_problem("invalid_argument", failure.message, program=role))
        case "device_error" | "module_not_loadable":
            replayed.fail(program_problem("worker_lost", failure.message, program=role))
        case _:
            take_failure(replayed, failure, role)


def _last_op(outcome: LaunchOutcome, tape: Tape) -> Op | None:
    """Return the op that a launcher announced last."""
    started = [stage.removeprefix(_OP) for stage in outcome.stages if stage.startswith(_OP)]
    index = _number(started[-1]) if started else len(tape.ops)
    return tape.ops[index] if index < len(tape.ops) else None


def _finding(kind: str, message: str, op: Op | None) -> Finding:
    place = op.place if op is not None else None
    file, line = (place.file, place.line) if place is not None else (None, None)
    return Finding(kind=kind, file=file, line=line, message=message)
