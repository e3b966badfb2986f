"""The program resource: the record that is stored under its id and answered over HTTP.

Only data; who records and replays a program, and how it is stored, is not known here.
"""

from typing import Literal

from pydantic import Field, JsonValue

from compiler.compilation import Record
from compiler.problem import Problem
from launch.messages import Finding
from launch.request.launch_record import Comparison, Device, LaunchState, Summary
from launch.request.verdict import Verdict
from programs.timing_record import MOST_ENTRIES, EntryTime, ProgramTiming

FlagKind = Literal[
    "no_kernel",
    "dead_launch",
    "cached_result",
    "constant_output",
    "returned_input",
    "unwritten_output",
    "heavy_aten_left",
    "precision_downgrade",
    "value_dependent",
    "precomputed",
    "zeros_match",
]

CoverageMeasure = Literal["time", "work"]


class ProgramFlag(Record):
    """One thing about how a program comes to its result that a reader should know."""

    kind: FlagKind
    message: str
    file: str | None = None
    line: int | None = None


class ProgramProblem(Problem):
    """Why there is no verdict; of `not_recordable` also the reason, and the place in the source."""

    program: Literal["candidate", "reference"] | None = Field(
        default=None, description="which of the two it is about, where it is about one"
    )
    reason: str | None = Field(default=None, description="of a closed list, where it has one")
    file: str | None = None
    line: int | None = None


class ProgramOutput(Record):
    """One output of the program."""

    summary: Summary | None = None
    comparison: Comparison | None = None


class KernelConfiguration(Record):
    """One of the configurations of an autotuned kernel."""

    number: int = Field(description="from 0, as the autotuner has them")
    constexprs: dict[str, JsonValue] = Field(default_factory=dict)
    options: dict[str, JsonValue] = Field(default_factory=dict)
    is_fastest: bool | None = Field(
        default=None, description="on the GPU, for some launch; null: none was timed"
    )


class ProgramKernel(Record):
    """A kernel as the program launches it: one for each way in which it is compiled."""

    name: str
    file: str | None = None
    line: int | None = None
    launches: int = Field(description="of it, in one call of the program")
    compilation_key: str | None = None
    compilation_url: str | None = None
    configuration: KernelConfiguration | None = Field(
        default=None, description="of an autotuned kernel; null: it is none"
    )
    reads: list[str] | None = Field(
        default=None,
        description="parameters whose memory it may read; null: not known, or too many",
    )
    writes: list[str] | None = Field(
        default=None,
        description="parameters whose memory it may write; null: not known, or too many",
    )
    problem: Problem | None = Field(default=None, description="why it does not compile")


class TapeSummary(Record):
    """What was recorded of a program, in numbers."""

    ops: int
    launches: int
    bytes: int = Field(description="of the tape, as `url` answers it")
    url: str


class ReferenceRecord(Record):
    """What was recorded of the reference."""

    tape: TapeSummary | None = None
    kernels: list[ProgramKernel] = Field(default_factory=list)
    peak_bytes: int | None = None
    timing: ProgramTiming | None = Field(default=None, description="null on the CPU device")


class Reward(Record):
    """The answer in the few words that training wants."""

    compiled: bool = Field(description="it was recorded, and all of its kernels compile")
    correct: bool = Field(description="the verdict is `passed`")
    speedup: float | None = Field(
        default=None, description="over the reference; null unless correct, and on the CPU device"
    )
    coverage: float | None = Field(default=None, description="as of the program")
    flags: list[FlagKind] = Field(default_factory=list, description="the kinds, each once")


class ProgramCaseResult(Record):
    """One case; `verdict` is null when it did not run, and then `problem` says why."""

    index: int
    name: str | None
    verdict: Verdict | None = None
    flags: list[ProgramFlag] = Field(default_factory=list)
    outputs: dict[str, ProgramOutput] = Field(default_factory=dict)
    findings: list[Finding] = Field(default_factory=list)
    speedup: float | None = None
    speedup_interval: tuple[float, float] | None = None
    coverage: float | None = None
    coverage_measure: CoverageMeasure | None = None
    timing: ProgramTiming | None = None
    reference_timing: ProgramTiming | None = None
    entries: list[EntryTime] | None = Field(default=None, max_length=MOST_ENTRIES)
    peak_bytes: int | None = None
    problem: ProgramProblem | None = None


class Program(Record):
    """One program. With cases, outputs and findings are theirs and null here."""

    id: str
    url: str
    state: LaunchState
    queue_position: int | None = None
    verdict: Verdict | None = Field(
        default=None, description="in the words of launches; null unless completed"
    )
    device: Device | None = None
    flags: list[ProgramFlag] = Field(
        default_factory=list, description="how it comes to its result; none changes the verdict"
    )
    findings: list[Finding] | None = None
    outputs: dict[str, ProgramOutput] | None = Field(
        default=None, description="by their index, or by the name of a script's variable"
    )
    kernels: list[ProgramKernel] = Field(default_factory=list)
    tape: TapeSummary | None = None
    speedup: float | None = Field(
        default=None,
        description="the reference's median by the program's own; with cases the geometric mean of "
        "theirs; null on the CPU device",
    )
    speedup_interval: tuple[float, float] | None = Field(
        default=None, description="around speedup, from the intervals of both medians"
    )
    coverage: float | None = Field(
        default=None,
        description="share of the time on a GPU, of the work on the CPU device, in the program's "
        "kernels; with cases of theirs together; null where it is not known",
    )
    coverage_measure: CoverageMeasure | None = Field(
        default=None,
        description="what coverage is a share of: time, as measured on a GPU, or work, in "
        "elementary operations beside the reference's; null where coverage is",
    )
    timing: ProgramTiming | None = Field(
        default=None, description="of one call; null on the CPU device"
    )
    entries: list[EntryTime] | None = Field(
        default=None,
        max_length=MOST_ENTRIES,
        description="what takes how long, the longest first; null on the CPU device",
    )
    reference: ReferenceRecord | None = None
    reward: Reward | None = Field(default=None, description="null until it is over")
    cases: list[ProgramCaseResult] | None = None
    counts: dict[str, int] = Field(default_factory=dict, description="runs by verdict")
    peak_bytes: int | None = Field(
        default=None, description="the most that its tensors take at once, in replay"
    )
    timings_ms: dict[str, float] | None = None
    warnings: list[str] = Field(default_factory=list)
    problem: ProgramProblem | None = None


def program_url(program_id: str) -> str:
    """Return the path of a program."""
    return f"/v1/programs/{program_id}"


def tape_url(program_id: str, *, of_reference: bool = False) -> str:
    """Return the path of a program's tape, or of its reference's."""
    return f"{program_url(program_id)}/tape" + ("?program=reference" if of_reference else "")


def reward_of(program: Program, *, compiled: bool) -> Reward:
    """Return the reward of a program that is over: nothing for how fast it is wrong."""
    correct = program.verdict is Verdict.PASSED
    return Reward(
        compiled=compiled,
        correct=correct,
        speedup=program.speedup if correct else None,
        coverage=program.coverage,
        flags=list(dict.fromkeys(flag.kind for flag in program.flags)),
    )
