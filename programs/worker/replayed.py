"""The result of replaying a program: the outputs of both calls, findings, and memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from launch.messages import Finding
from launch.request.verdict import RunEnding
from programs.program_record import ProgramProblem
from programs.replay.replay_order import CALLS, InsensitiveOutput
from programs.tape.schema import (
    ELEMENT_BYTES,
    MAX_CHANGED_PARAMETERS,
    Scalar,
    Tape,
    TensorMeta,
    TensorRef,
    by_path,
    changeable,
    state_path,
    tensors_of,
)
from programs.worker.gpu.program_times import ProgramTimes
from worker.compile.reports import Malformed
from worker.launch.launch_reports import ComparedOutput
from worker.pool.shared_bytes import Body

TensorIndex = tuple[int, int]
"""A call, and the position of a tensor among its outputs or inputs."""


@dataclass(frozen=True, slots=True)
class ReplayedTensor:
    """A returned tensor: its elements in C order, and a bitmap of those that were never written."""

    meta: TensorMeta
    data: Body | None
    """None if it stayed on the GPU."""
    unwritten: Body | None = None
    compared: ComparedOutput | None = None
    """The GPU's comparison, if it was compared there."""
    is_returned: bool = False
    """True if it is a changed input whose memory the call also returns."""


ReplayedCall = Mapping[str, ReplayedTensor | Scalar]
"""A call's outputs by path (`0`, `1.a`), and what it changed in place (`inputs[0]`, `state[w]`)."""


def is_side_effect(path: str) -> bool:
    """Return True for the path of a changed input, parameter or buffer, False for an output's."""
    return path.startswith(("inputs[", "state["))


def returns_tensors(call: ReplayedCall) -> bool:
    """Return True if a call returned a tensor. What it changed in place does not count."""
    tensors = (path for path, item in call.items() if isinstance(item, ReplayedTensor))
    return not all(map(is_side_effect, tensors))


def are_equal(first: Scalar, other: Scalar | ReplayedTensor) -> bool:
    """Return True if plain values are equal: NaN equals NaN, and True does not equal 1."""
    both_nan = first != first and other != other
    return type(first) is type(other) and (first == other or both_nan)


def described(item: ReplayedTensor | Scalar) -> str:
    """Return a description of an output for messages."""
    if isinstance(item, ReplayedTensor):
        return f"a tensor of {item.meta.dtype} {list(item.meta.shape)}"
    return f"{item!r:.80}"


@dataclass(slots=True)
class Replayed:
    """The result of a replay. `calls` are those that finished, in order."""

    ending: RunEnding = RunEnding.FINISHED
    calls: list[ReplayedCall] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    peak_bytes: int | None = None
    deterministic: bool | None = None
    state: frozenset[str] = frozenset()
    """The paths of its parameters and buffers, whether or not a call changes them."""
    parameters: Sequence[str | None] = ()
    """The digest of each parameter before the first call; None if no call needs it."""
    op_times_us: Sequence[float] = ()
    """The CPU time of each ATen op, by index, if an experiment measured it."""
    insensitive: Sequence[InsensitiveOutput] = ()
    """Outputs of a reference that show nothing, if an experiment asked for them."""
    precise: dict[int, Body] = field(default_factory=dict)
    """The first call's outputs in fp64, by position, if an experiment asked for them."""
    variants: Mapping[int, int] = field(default_factory=dict)
    """The number of the fastest variant, which ran, of each autotuned launch on a GPU, by op."""
    module_states: Sequence[Mapping[str, Any]] = ()
    """State that its kernels' modules could keep between runs on a GPU."""
    kept: Sequence[Finding] = ()
    """Findings about memory on a GPU that a call changed, although none of its ops may write it."""
    times: ProgramTimes | None = None
    """Its times on a GPU, if it was timed."""
    untimed: str = ""
    """The reason if it should have been timed and was not."""
    reference_times: ProgramTimes | None = None
    """The times of its reference, if both were timed in turns."""
    reference_untimed: str = ""
    """The reason if its reference should have been timed in turns and was not."""
    wrong_turns: Sequence[Finding] = ()
    """A finding if it returned other outputs than its reference in a turn."""
    stdout: str = ""
    is_apart: bool = True
    """True if no other program ran in its process before."""
    problem: ProgramProblem | None = None
    """The reason if its ending is `NOT_RUN`: it could not be replayed."""

    @property
    def is_whole(self) -> bool:
        """True if both calls finished."""
        return self.problem is None and len(self.calls) == len(CALLS)

    def end(self, ending: RunEnding, finding: Finding) -> None:
        """Set a bad ending, and add its finding."""
        self.ending = ending
        self.findings.append(finding)

    def fail(self, problem: ProgramProblem) -> None:
        """Set the problem of a program that was not replayed."""
        self.ending, self.problem = RunEnding.NOT_RUN, problem


@dataclass(frozen=True, slots=True)
class SentTensors:
    """The elements of tensors in C order, by place."""

    outputs: Mapping[TensorIndex, Body]
    unwritten: Mapping[TensorIndex, Body] = field(default_factory=dict)
    """A bit for each element, of outputs with elements that were never written."""
    inputs: Mapping[TensorIndex, Body] = field(default_factory=dict)
    """The bytes that the call changed in place, by position in `changeable`."""


def calls_of(tape: Tape, sent: SentTensors) -> list[ReplayedCall]:
    """Return the calls up to the first of which something is missing.

    Raises Malformed.
    """
    calls = list[ReplayedCall]()
    for call in range(len(CALLS)):
        returned = call_of(tape, call, sent)
        if returned is None:
            break
        calls.append(returned)
    return calls


def call_of(tape: Tape, call: int, sent: SentTensors) -> ReplayedCall | None:
    """Return a call's outputs, None if some were not sent. Raises Malformed."""
    values: dict[str, ReplayedTensor | Scalar] = {}
    position = 0
    for path, value in by_path((tape.outputs, tape.outputs2)[call]).items():
        if not isinstance(value, TensorRef):
            values[path] = value
            continue
        data = sent.outputs.get((call, position))
        if data is None:
            return None
        missing = sent.unwritten.get((call, position))
        values[path] = _tensor_of(path, tape.tensors[value.id], data, missing)
        position += 1
    return values | _changed(tape, call, sent.inputs)


def state_of(tape: Tape) -> frozenset[str]:
    """Return the paths of a program's parameters and buffers."""
    return frozenset([state_path(name) for name, _ in tape.params[:MAX_CHANGED_PARAMETERS]])


def calls_left_on_gpu(
    tape: Tape,
    compared: Mapping[TensorIndex, ComparedOutput],
    inputs: Mapping[TensorIndex, Body | None],
) -> list[ReplayedCall]:
    """Return both calls of a program whose outputs stayed on the GPU, with its comparisons.

    `inputs` are what a call changed in place; None for one that stayed on the GPU, too.
    """
    calls = list[ReplayedCall]()
    for call in range(len(CALLS)):
        returned: dict[str, ReplayedTensor | Scalar] = {}
        position = 0
        for path, value in by_path((tape.outputs, tape.outputs2)[call]).items():
            if not isinstance(value, TensorRef):
                returned[path] = value
                continue
            numbers = compared.get((call, position))
            returned[path] = ReplayedTensor(tape.tensors[value.id], None, compared=numbers)
            position += 1
        calls.append(returned | _changed(tape, call, inputs))
    return calls


def uncompared(ours: Sequence[ReplayedCall], theirs: Sequence[ReplayedCall]) -> str | None:
    """Return the path of an output that agrees in dtype and shape, but was never compared."""
    for call, expected in zip(ours, theirs, strict=False):
        for path, item in call.items():
            other = expected.get(path)
            if is_side_effect(path) or not isinstance(item, ReplayedTensor):
                continue
            if item.data is not None or item.compared is not None:
                continue
            alike = isinstance(other, ReplayedTensor) and _kind(other) == _kind(item)
            if alike:
                return path
    return None


def uncompared_change(
    tape: Tape, ours: Sequence[ReplayedCall], theirs: Sequence[ReplayedCall]
) -> str | None:
    """Return the path of an input that both changed in place but that was never compared.

    An input that shares memory with an output is compared as that output.
    """
    for number, (call, expected) in enumerate(zip(ours, theirs, strict=False)):
        for path, _ in changeable(tape, number):
            item, other = call.get(path), expected.get(path)
            if not (isinstance(item, ReplayedTensor) and isinstance(other, ReplayedTensor)):
                continue
            if item.data is not None and other.data is not None:
                continue
            if not item.is_returned:
                return path
    return None


def _kind(tensor: ReplayedTensor) -> tuple[str, tuple[int, ...]]:
    return tensor.meta.dtype, tuple(tensor.meta.shape)


def _changed(
    tape: Tape, call: int, sent: Mapping[TensorIndex, Body | None]
) -> dict[str, ReplayedTensor | Scalar]:
    """Return what a call changed in place, by path. Raises Malformed."""
    values: dict[str, ReplayedTensor | Scalar] = {}
    outputs = (tape.outputs, tape.outputs2)[call]
    returned = {tape.tensors[id_].storage for id_ in tensors_of(outputs)}
    for position, (path, id_) in enumerate(changeable(tape, call)):
        if (call, position) not in sent:
            continue
        meta, data = tape.tensors[id_], sent[call, position]
        tensor = ReplayedTensor(meta, None) if data is None else _tensor_of(path, meta, data, None)
        values[path] = replace(tensor, is_returned=meta.storage in returned)
    return values


def _tensor_of(path: str, meta: TensorMeta, data: Body, missing: Body | None) -> ReplayedTensor:
    count = prod(meta.shape)
    if len(data) != count * ELEMENT_BYTES[meta.dtype]:
        raise Malformed(f"the output {path} has a wrong size")
    if missing is not None and len(missing) != -(-count // 8):
        raise Malformed(f"the bitmap of unwritten elements of the output {path} has a wrong size")
    return ReplayedTensor(meta, data, missing)
