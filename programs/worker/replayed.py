"""The result of replaying a program: the outputs of both calls, findings, and memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from launch.messages import Finding
from launch.request.verdict import RunEnding
from programs.program_record import ProgramProblem
from programs.replay.replay_order import CALLS, InsensitiveOutput
from programs.tape.schema import Scalar, TensorMeta
from programs.worker.gpu.program_times import ProgramTimes
from worker.launch.launch_reports import ComparedOutput
from worker.pool.shared_bytes import Body


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


def are_equal(one: Scalar, other: Scalar | ReplayedTensor) -> bool:
    """Return True if plain values are equal: NaN equals NaN, and True does not equal 1."""
    both_nan = one != one and other != other
    return type(one) is type(other) and (one == other or both_nan)


def described(item: ReplayedTensor | Scalar) -> str:
    """Return a description of an output for messages."""
    if isinstance(item, ReplayedTensor):
        return f"a tensor of {item.meta.dtype} {list(item.meta.shape)}"
    return f"{item!r:.80}"


@dataclass(frozen=True, slots=True)
class TimedCall:
    """A timed run to compare: its number, the call whose inputs it had, and its outputs."""

    repeat: int
    """Counts from 0; negative for a warm-up run."""
    call: int
    returned: ReplayedCall


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
    """Outputs of a reference that tell nothing, if an experiment asked for them."""
    precise: dict[int, Body] = field(default_factory=dict)
    """The first call's outputs in fp64, by position, if an experiment asked for them."""
    repeats: list[TimedCall] = field(default_factory=list)
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
    stdout: str = ""
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
