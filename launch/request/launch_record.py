"""The launch resource: the record that the store keeps and the HTTP API returns.

Only data. All numbers are finite: others become strings that every JSON reader preserves.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, JsonValue

from compiler.compilation import Compilation, Record, amended
from compiler.json_number import written_number
from compiler.problem import Problem
from launch.messages import Finding
from launch.profile_record import Profile
from launch.request.verdict import GOOD, Verdict, worst


class Fuzzed(Record):
    """The extent of the fuzzing. A failure is a finding with its `case`."""

    seed: int | str = Field(description="the same seed gives the same cases")
    cases: int = Field(description="number of tried cases")
    kinds: dict[str, int] = Field(
        default_factory=dict,
        description="the number of cases by kind of change",
        examples=[{"shapes": 11, "values": 9, "strides": 2, "alignment": 3}],
    )
    varied: list[str] = Field(
        default_factory=list, examples=[["n_elements: 1, 1023, 1025", "values of x_ptr: zeros"]]
    )
    not_varied: list[str] = Field(default_factory=list, description="fixed parts, with reasons")
    skipped: dict[str, int] = Field(
        default_factory=dict, description="further cases that do not test the kernel, by reason"
    )
    reference: Literal["float64", "as_given"] | None = Field(
        default=None,
        description="as_given: the reference does not accept float64, or the launch does not match "
        "its float64 result",
    )


def number_in_json(value: Any) -> Any:
    """Return a number in the form of an answer: NaN and infinities, and large integers, as text."""
    if isinstance(value, list):
        return [number_in_json(item) for item in value]
    return written_number(value) if isinstance(value, int | float) else value


Number = Annotated[bool | int | float | str, BeforeValidator(number_in_json)]
"""A number of any size: serialization, not its users, takes care of JSON's limits."""

Values = Annotated[list[Any] | bool | int | float | str, BeforeValidator(number_in_json)]
"""Nested lists of numbers, or one number of a buffer without dimensions."""


LaunchState = Literal["queued", "running", "completed", "failed", "cancelled"]


class Device(Record):
    """The device that runs the launch.

    On the CPU device, `interpreter` (its former name) is true and all other fields are null.
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
    """The positions of mismatches, in cells: the last axis against all other axes together."""

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
        default=None, description="elements; those that neither of two kernels wrote are skipped"
    )
    mismatched: int
    nonfinite_mismatched: int
    unwritten: int = Field(
        default=0, description="mismatched elements never written; no tolerance covers these"
    )
    zeros_match: bool = Field(
        default=False,
        description="true: an output of only zeros would match, too, so the match proves little",
    )
    first_mismatch: Mismatch | None = None
    mismatch_map: MismatchMap | None = Field(default=None, description="null: all match")
    rtol: float | None = None
    atol: float | None = None
    note: str | None = Field(
        default=None,
        description="an explanation of the numbers: the cause of a small difference, that elements "
        "were not written, or that no element had to change",
    )


class Output(Record):
    """One output; members that were not requested are null."""

    summary: Summary | None = None
    comparison: Comparison | None = None
    values: Values | None = None
    expected: Values | None = Field(
        default=None, description="by the reference, where `values` are answered and do not match"
    )
    url: str | None = None


class ComparedRepeat(Record):
    """One timed run whose outputs were compared with the reference, on the inputs of its seeds."""

    repeat: int = Field(description="from 0; negative for warm-up runs")
    seeds: dict[str, Number] = Field(
        default_factory=dict, description="of its random inputs; empty: those of the launch"
    )
    matches: bool | None = Field(description="null: nothing could be compared")


class Timing(Record):
    """Times of one kernel in microseconds, over `repeats` timed runs."""

    median_us: float
    interval_us: tuple[float, float] | None = Field(
        default=None,
        description="around the median: in 19 of 20 repetitions of the measurement, the median "
        "lies within it",
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
        default=1, description="sets of buffers in rotation for the timed runs: see fresh_inputs"
    )
    checked_repeats: int | None = Field(
        default=None,
        description="timed runs whose outputs were compared on the GPU, byte by byte, with those "
        "of the first run or, with fresh_inputs values, of a freshly loaded copy of the kernel",
    )
    differing_repeats: int | None = Field(default=None, description="those that differ")
    compared_repeats: list[ComparedRepeat] = Field(
        default_factory=list, description="timed runs that were compared with the reference"
    )
    overhead_us: float | None = Field(
        default=None,
        description="the least measured time of an empty kernel on this GPU; all times include it, "
        "so the kernel itself takes about that much less",
    )
    floor_us: float | None = Field(
        default=None,
        description="the least possible time of a run, from the device's ceilings, the bytes "
        "written, and the bytes and flops that the request states",
    )
    plausible: bool | None = Field(
        default=None, description="false: the times are below floor_us; see impossible_time"
    )
    bytes_share: float | None = Field(
        default=None,
        description="bytes_per_s as a share of the device's memory bandwidth, or of its L2 "
        "bandwidth for bytes that fit the L2 cache",
    )
    flops_share: float | None = Field(
        default=None,
        description="flops_per_s as a share of the device's specified peak for the fastest of the "
        "arguments' types",
    )


class CaseResult(Record):
    """One case; `verdict` is null if it did not run, and `problem` has the reason."""

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
        """True if this case counts for `stop_after_failures`."""
        return self.verdict not in GOOD


class Launch(Record):
    """One launch. With cases, these have outputs, timing and findings, which are null here.

    Only the finding `not_proved` is always here: a proof is that of all cases.
    """

    id: str
    url: str
    state: LaunchState
    queue_position: int | None = None
    verdict: Verdict | None = None
    kernel: str | None = Field(
        default=None, description="the kernel's name, once it is known; null for posted IR"
    )
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
        default_factory=dict, description="of the random inputs, by argument, including chosen ones"
    )
    stdout: str = ""
    fuzz: Fuzzed | None = Field(default=None, description="where `checks` has fuzz")
    proof: dict[str, JsonValue] | None = Field(
        default=None,
        description="where `checks` has proof: the kernel's proof, as GET /v1/proofs/{id} answers",
    )
    timings_ms: dict[str, float] | None = None
    problem: Problem | None = None


def launch_url(launch_id: str) -> str:
    """Return the path of a launch."""
    return f"/v1/launches/{launch_id}"


def with_run(launch: Launch, run: CaseResult) -> Launch:
    """Return `launch` completed with its only run."""
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
    """Return `launch` completed with its cases: the worst verdict, and the count of each.

    A case that could not run has its own problem. It fails the launch only if all cases fail, but
    prevents the verdict `passed`, because it was not checked.
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
    """Return the number of cases by verdict; `failed` counts those that could not run."""
    return dict(Counter(str(case.verdict or "failed") for case in cases))
