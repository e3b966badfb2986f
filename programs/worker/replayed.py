"""What came of replaying a program: what both calls returned, findings, and memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from launch.messages import Finding
from launch.request.verdict import RunEnding
from programs.program_record import ProgramProblem
from programs.replay.replay_order import CALLS
from programs.tape.schema import Scalar, TensorMeta
from programs.worker.gpu.program_times import ProgramTimes
from worker.launch.launch_reports import ComparedOutput
from worker.pool.shared_bytes import Body


@dataclass(frozen=True, slots=True)
class ReplayedTensor:
    """A tensor that a call returned: elements in C order, and a bit for each that nobody wrote."""

    meta: TensorMeta
    data: Body | None
    """None: it has not left the GPU."""
    unwritten: Body | None = None
    compared: ComparedOutput | None = None
    """What a GPU says of it, where it was compared there."""


ReplayedCall = Mapping[str, ReplayedTensor | Scalar]
"""What a call returned, by path (`0`, `1.a`), and left in inputs that it changed (`inputs[0]`)."""


def is_input_path(path: str) -> bool:
    """Whether a path is of an input that was changed, and not of an output."""
    return path.startswith("inputs[")


def returns_tensors(call: ReplayedCall) -> bool:
    """Whether a call returned a tensor, beside inputs that it changed."""
    tensors = (path for path, item in call.items() if isinstance(item, ReplayedTensor))
    return not all(map(is_input_path, tensors))


def are_equal(one: Scalar, other: Scalar | ReplayedTensor) -> bool:
    """Whether plain values are one: NaN is itself, and True is not 1."""
    both_nan = one != one and other != other
    return type(one) is type(other) and (one == other or both_nan)


def described(item: ReplayedTensor | Scalar) -> str:
    """Return what a message calls it."""
    if isinstance(item, ReplayedTensor):
        return f"a tensor of {item.meta.dtype} {list(item.meta.shape)}"
    return f"{item!r:.80}"


@dataclass(frozen=True, slots=True)
class TimedCall:
    """A timed repeat that is to be looked at: which, on which call's inputs, what it returned."""

    repeat: int
    """From 0; below 0 it was one to warm up."""
    call: int
    returned: ReplayedCall


@dataclass(slots=True)
class Replayed:
    """What came of a replay. `calls` are those that got to their end, in order."""

    ending: RunEnding = RunEnding.FINISHED
    calls: list[ReplayedCall] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    peak_bytes: int | None = None
    deterministic: bool | None = None
    parameters: Sequence[str | None] = ()
    """A digest of each parameter of the tape, before the first call; None: no call needs it."""
    repeats: list[TimedCall] = field(default_factory=list)
    variants: Mapping[int, int] = field(default_factory=dict)
    """Of autotuned launches on a GPU, by op: which variant was the fastest, and ran."""
    module_states: Sequence[Mapping[str, Any]] = ()
    """What its kernels' modules could keep between runs on a GPU, of those that could."""
    times: ProgramTimes | None = None
    """On a GPU, where it was timed."""
    untimed: str = ""
    """Why there are none, where it was to be."""
    stdout: str = ""
    problem: ProgramProblem | None = None
    """Why it could not be replayed at all, where its ending is `NOT_RUN`."""

    @property
    def is_whole(self) -> bool:
        """Whether both calls got to their end."""
        return self.problem is None and len(self.calls) == len(CALLS)

    def end(self, ending: RunEnding, finding: Finding) -> None:
        """Say that it ended badly."""
        self.ending = ending
        self.findings.append(finding)

    def fail(self, problem: ProgramProblem) -> None:
        """Say that there is no replay that could be judged."""
        self.ending, self.problem = RunEnding.NOT_RUN, problem
