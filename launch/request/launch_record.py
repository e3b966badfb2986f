"""The launch resource: the record that is stored under its id and answered over HTTP.

Only data; who runs it and how it is stored is not known here. Numbers in it are finite: the rest is
written as strings that every JSON reader keeps.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from compiler.compilation import Compilation, Record, amended
from compiler.json_number import written_number
from compiler.problem import Problem
from launch.messages import Finding
from launch.profile_record import Profile
from launch.request.fuzz_record import Fuzzed
from launch.request.verdict import GOOD, Verdict, worst


def answered(value: Any) -> Any:
    """Return a number as answers show it: NaN and infinities by name, large integers as text."""
    if isinstance(value, list):
        return [answered(item) for item in value]
    return written_number(value) if isinstance(value, int | float) else value


Number = Annotated[bool | int | float | str, BeforeValidator(answered)]
"""A number of any size, so that the code that builds an answer need not consider JSON's limits."""

Values = Annotated[list[Any] | bool | int | float | str, BeforeValidator(answered)]
"""Nested lists of numbers, or one number of a buffer without dimensions."""


LaunchState = Literal["queued", "running", "completed", "failed", "cancelled"]


class Device(Record):
    """The device that runs it.

    `interpreter` is true on the CPU device, which had this name once; all else is null there.
    """

    target: str | None
    model: str | None = None
    driver: str | None = None
    interpreter: bool


class Summary(Record):
    """One output in numbers. `unwritten`: elements that still hold the poison."""

    shape: list[int]
    dtype: str
    min: Number | None = None
    max: Number | None = None
    mean: Number | None = None
    nan: int
    inf: int
    unwritten: int


class Mismatch(Record):
    """The first element, in C order, that does not match."""

    index: list[int]
    actual: Number
    expected: Number


class MismatchMap(Record):
    """The positions of mismatches: the last axis by all others together, in cells."""

    rows: int = Field(description="of the output, all axes but the last together")
    columns: int = Field(description="of the output, its last axis")
    mismatched: list[Annotated[list[int], Field(max_length=32)]] = Field(
        max_length=32, description="in each cell; at most 32 by 32, row by row"
    )


class Comparison(Record):
    """One output against its reference."""

    matches: bool
    max_abs_error: Number | None
    max_rel_error: Number | None
    compared: int | None = Field(
        default=None, description="elements; what neither of two kernels wrote is not compared"
    )
    mismatched: int
    nonfinite_mismatched: int
    unwritten: int = Field(
        default=0, description="mismatched, as nobody wrote them; no tolerance covers these"
    )
    zeros_match: bool = Field(
        default=False,
        description="whether an output of nothing but zeros would match, too: then it says little",
    )
    first_mismatch: Mismatch | None = None
    mismatch_map: MismatchMap | None = Field(default=None, description="null: all match")
    rtol: float | None = None
    atol: float | None = None
    note: str | None = Field(
        default=None,
        description="what the numbers alone do not say: what a small difference comes from, that "
        "elements were not written, or that nothing was to change",
    )


class Output(Record):
    """One output; members that were not requested are null."""

    summary: Summary | None = None
    comparison: Comparison | None = None
    values: Values | None = None
    url: str | None = None


class ComparedRepeat(Record):
    """One timed run whose outputs were compared with the reference, on the inputs of its seeds."""

    repeat: int = Field(description="from 0; below 0 it was a run to warm up")
    seeds: dict[str, Number] = Field(
        default_factory=dict, description="of its random inputs; empty: the launch's own"
    )
    matches: bool | None = Field(description="null: nothing of it could be compared")


class Timing(Record):
    """Times of one kernel in microseconds, over `repeats` timed runs."""

    median_us: float
    interval_us: tuple[float, float] | None = Field(
        default=None,
        description="around the median: another run of the same has its median within it in 19 of "
        "20 tries",
    )
    mean_us: float
    min_us: float
    p20_us: float
    p80_us: float
    std_us: float
    repeats: int
    noisy: bool
    bytes_per_s: float | None = None
    flops_per_s: float | None = None
    clock_mhz: int | None = None
    throttled: list[str] = Field(default_factory=list)
    samples_us: list[float] | None = None
    input_sets: int = Field(
        default=1, description="sets of buffers that the repeats took in turn: see fresh_inputs"
    )
    checked_repeats: int | None = Field(
        default=None,
        description="timed runs whose outputs were compared on the GPU, byte by byte, with those "
        "of the first run, or with fresh_inputs values of a freshly loaded copy of the kernel",
    )
    differing_repeats: int | None = Field(default=None, description="of these, that differ")
    compared_repeats: list[ComparedRepeat] = Field(
        default_factory=list, description="those that were compared with the reference"
    )
    overhead_us: float | None = Field(
        default=None,
        description="the least that the same stopwatch tells of a kernel that does nothing on this "
        "GPU; it is in every time here, and a kernel's own time is about that much shorter",
    )
    floor_us: float | None = Field(
        default=None,
        description="what no run can be faster than, by the device's ceilings, what it wrote, and "
        "the bytes and flops that the request states",
    )
    plausible: bool | None = Field(
        default=None, description="false: the times are below floor_us; see impossible_time"
    )
    bytes_share: float | None = Field(
        default=None,
        description="bytes_per_s as a share of what the device's memory reaches, or "
        "for fewer bytes than its L2 cache holds, of what that reaches",
    )
    flops_share: float | None = Field(
        default=None,
        description="flops_per_s as a share of what the device is specified to do "
        "with the fastest of the arguments' types",
    )


class CaseResult(Record):
    """One case; `verdict` is null when it did not run, and then `problem` says why."""

    index: int
    name: str | None
    verdict: Verdict | None = None
    compilation_key: str | None = None
    outputs: dict[str, Output] = Field(default_factory=dict)
    deterministic: bool | None = None
    timing: Timing | None = None
    profile: Profile | None = None
    findings: list[Finding] = Field(default_factory=list)
    seeds: dict[str, Number] = Field(default_factory=dict)
    fuzz: Fuzzed | None = Field(default=None, description="where `checks` has fuzz")
    problem: Problem | None = None

    @property
    def failed(self) -> bool:
        """True if it counts for `stop_after_failures`."""
        return self.verdict not in GOOD


class Launch(Record):
    """One launch. With cases, outputs, timing and findings are theirs and null here."""

    id: str
    url: str
    state: LaunchState
    queue_position: int | None = None
    verdict: Verdict | None = None
    compilation: Compilation | None = None
    device: Device | None = None
    outputs: dict[str, Output] | None = None
    deterministic: bool | None = None
    timing: Timing | None = None
    profile: Profile | None = None
    findings: list[Finding] | None = None
    cases: list[CaseResult] | None = None
    counts: dict[str, int] = Field(default_factory=dict)
    seeds: dict[str, Number] = Field(
        default_factory=dict, description="of the random inputs, the chosen ones too, by argument"
    )
    stdout: str = ""
    fuzz: Fuzzed | None = Field(default=None, description="where `checks` has fuzz")
    timings_ms: dict[str, float] | None = None
    problem: Problem | None = None


def launch_url(launch_id: str) -> str:
    """Return the path of a launch."""
    return f"/v1/launches/{launch_id}"


def with_run(launch: Launch, run: CaseResult) -> Launch:
    """Return `launch` completed by its only run."""
    return amended(
        launch,
        state="completed" if run.problem is None else "failed",
        verdict=run.verdict,
        outputs=run.outputs,
        deterministic=run.deterministic,
        timing=run.timing,
        profile=run.profile,
        findings=run.findings,
        seeds=run.seeds,
        fuzz=run.fuzz,
        counts=counted([run]),
        problem=run.problem,
    )


def with_cases(launch: Launch, cases: Sequence[CaseResult]) -> Launch:
    """Return `launch` completed by its cases: the worst verdict, and how many had which.

    Cases that could not run have a problem of their own; they fail the launch only when all do, but
    it has not passed with them: what was not run was not checked.
    """
    ran = [case.verdict for case in cases if case.verdict is not None]
    verdict = worst(ran)
    if verdict is Verdict.PASSED and len(ran) < len(cases):
        verdict = Verdict.NOT_CHECKED
    return amended(
        launch,
        state="completed" if ran or not cases else "failed",
        verdict=verdict,
        outputs=None,
        deterministic=None,
        timing=None,
        findings=None,
        cases=list(cases),
        counts=counted(cases),
        problem=None if ran or not cases else cases[0].problem,
    )


def counted(cases: Sequence[CaseResult]) -> dict[str, int]:
    """Return how many cases had which verdict; `failed` are those that could not run."""
    return dict(Counter(str(case.verdict or "failed") for case in cases))
