"""The program resource: the record that is stored under its id and answered over HTTP.

Only data: this module does not know how programs are recorded, replayed or stored.
"""

from collections.abc import Collection, Iterator
from typing import Literal

from pydantic import Field, JsonValue

from compiler.compilation import Record
from compiler.problem import Problem
from launch.messages import Finding
from launch.request.launch_record import Comparison, Device, LaunchState, Summary, Timing
from launch.request.verdict import Verdict
from programs.flag_kinds import SERIOUS, FlagKind

MAX_ENTRIES = 200
CoverageMeasure = Literal["time", "work"]


class ProgramTiming(Timing):
    """Times of one call of a program, from its first entry to its last, in microseconds."""

    method: Literal["graph", "events"] | None = Field(
        default=None,
        description="graph: the call was captured as a CUDA graph; events: its entries were issued "
        "one by one, so times include the host's wherever the GPU waits for it",
    )
    fresh_values: bool | None = Field(
        default=None,
        description="true: each timed run had its own input values, which the reference got in "
        "the same turn, and their outputs were compared on the GPU",
    )


class EntryTime(Record):
    """The time of one entry of the tape: an op of ATen, or a launch."""

    op: int = Field(description="index among the ops of the tape")
    name: str = Field(description="the overload, or the kernel")
    file: str | None = None
    line: int | None = None
    us: float = Field(description="median, in microseconds")
    share: float = Field(description="share of the sum of all entries")
    is_kernel: bool = Field(description="true for a launch of one of the program's kernels")
    configuration: int | None = Field(
        default=None, description="the configuration that an autotuned launch ran, from 0"
    )


class ProgramFlag(Record):
    """A remark on how a program computes its result, for the reader to judge."""

    kind: FlagKind
    message: str
    file: str | None = None
    line: int | None = None


class ProgramProblem(Problem):
    """The reason why there is no verdict."""

    program: Literal["candidate", "reference"] | None = Field(
        default=None, description="the program that it is about; null if it is about neither"
    )


class ProgramOutput(Record):
    """One output of the program."""

    summary: Summary | None = None
    comparison: Comparison | None = None


class KernelConfiguration(Record):
    """One of the configurations of an autotuned kernel."""

    number: int = Field(description="from 0, in the autotuner's order")
    constexprs: dict[str, JsonValue] = Field(default_factory=dict)
    options: dict[str, JsonValue] = Field(default_factory=dict)
    is_fastest: bool | None = Field(
        default=None, description="the fastest on the GPU for some launch; null: none was timed"
    )


class ProgramKernel(Record):
    """A kernel that the program launches: one entry for each specialization."""

    name: str
    file: str | None = None
    line: int | None = None
    launches: int = Field(description="its launches in one call of the program")
    compilation_key: str | None = None
    compilation_url: str | None = None
    configuration: KernelConfiguration | None = Field(
        default=None, description="of an autotuned kernel; null for others"
    )
    reads: list[str] | None = Field(
        default=None,
        description="parameters whose memory it may read; null: unknown, or too many",
    )
    writes: list[str] | None = Field(
        default=None,
        description="parameters whose memory it may write; null: unknown, or too many",
    )
    problem: Problem | None = Field(default=None, description="the reason if it does not compile")


class TapeSummary(Record):
    """The size of a program's tape, and its URL."""

    ops: int
    launches: int
    bytes: int = Field(description="the size of the tape that `url` answers")
    url: str


class ReferenceRecord(Record):
    """The tape, kernels and times of the reference."""

    tape: TapeSummary | None = None
    kernels: list[ProgramKernel] = Field(default_factory=list)
    peak_bytes: int | None = None
    timing: ProgramTiming | None = Field(default=None, description="null on the CPU device")


class Reward(Record):
    """A summary of the answer for training."""

    compiled: bool = Field(description="it was recorded, and all of its kernels compile")
    correct: bool = Field(description="the verdict is `passed`, and `serious` is empty")
    speedup: float | None = Field(
        default=None, description="over the reference; null if not correct, or on the CPU device"
    )
    coverage: float | None = Field(default=None, description="the program's `coverage`")
    flags: list[FlagKind] = Field(
        default_factory=list,
        description="the kinds of flags, and of findings in `serious`, without duplicates",
    )
    serious: list[FlagKind] = Field(
        default_factory=list,
        description="those of them that make it incorrect, as the operator chose",
    )


class ProgramCaseResult(Record):
    """One case; `verdict` is null if it did not run: see `problem`."""

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
    entries: list[EntryTime] | None = Field(default=None, max_length=MAX_ENTRIES)
    peak_bytes: int | None = None
    problem: ProgramProblem | None = None


class Program(Record):
    """One program. With cases, each case has its outputs and findings, and they are null here."""

    id: str
    url: str
    state: LaunchState
    queue_position: int | None = None
    verdict: Verdict | None = Field(
        default=None, description="one of the verdicts of launches; null unless completed"
    )
    device: Device | None = None
    seed: int | None = Field(
        default=None,
        description="of the values of inputs: the request's, else drawn by the service",
    )
    flags: list[ProgramFlag] = Field(
        default_factory=list,
        description="remarks on its method; none changes the verdict, some `reward.correct`",
    )
    findings: list[Finding] | None = None
    outputs: dict[str, ProgramOutput] | None = Field(
        default=None, description="by index, or by name for a script's variables"
    )
    kernels: list[ProgramKernel] = Field(default_factory=list)
    tape: TapeSummary | None = None
    speedup: float | None = Field(
        default=None,
        description="the reference's median time divided by the program's; with cases, the "
        "geometric mean of theirs; null on the CPU device",
    )
    speedup_interval: tuple[float, float] | None = Field(
        default=None, description="of speedup, from the intervals of both medians"
    )
    coverage: float | None = Field(
        default=None,
        description="the share of the program's kernels in its time on a GPU; on the CPU device, "
        "the share of the reference's work that is not left to torch; with cases, over all of "
        "them; null if unknown",
    )
    coverage_measure: CoverageMeasure | None = Field(
        default=None,
        description="coverage is a share of time, as measured on a GPU, or of work, in CPU time of "
        "torch's ops, as experiments show; null if coverage is",
    )
    timing: ProgramTiming | None = Field(
        default=None, description="of one call; null on the CPU device"
    )
    entries: list[EntryTime] | None = Field(
        default=None,
        max_length=MAX_ENTRIES,
        description="the times of ops and launches, the longest first; null on the CPU device",
    )
    reference: ReferenceRecord | None = None
    reward: Reward | None = Field(
        default=None,
        description="null until it has finished, and if it was not judged because its reference "
        "failed",
    )
    cases: list[ProgramCaseResult] | None = None
    counts: dict[str, int] = Field(default_factory=dict, description="runs by verdict")
    peak_bytes: int | None = Field(
        default=None, description="the peak memory of its tensors in the replay"
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


def reward_of(
    program: Program, *, compiled: bool, serious: Collection[FlagKind] = SERIOUS
) -> Reward:
    """Return the reward of a finished program. An incorrect program gets no speedup.

    A flag or finding of a `serious` kind makes it incorrect.
    """
    kinds = set(_kinds(program))
    against = dict.fromkeys(kind for kind in serious if kind in kinds)
    flags = dict.fromkeys(flag.kind for flag in program.flags)
    correct = program.verdict is Verdict.PASSED and not against
    return Reward(
        compiled=compiled,
        correct=correct,
        speedup=program.speedup if correct else None,
        coverage=program.coverage,
        flags=[*(flags | against)],
        serious=[*against],
    )


def _kinds(program: Program) -> Iterator[str]:
    """Yield the kinds of all flags and findings, those of cases too."""
    yield from (flag.kind for flag in program.flags)
    yield from (finding.kind for finding in program.findings or [])
    for case in program.cases or []:
        yield from (flag.kind for flag in case.flags)
        yield from (finding.kind for finding in case.findings)
