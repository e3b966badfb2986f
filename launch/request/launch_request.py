"""The body of POST /v1/launches: shape and types only.

`launch_resolution` checks what the values mean.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from compiler.request.compile_request import EXAMPLE as COMPILATION_EXAMPLE
from compiler.request.compile_request import MAX_TIMEOUT_S, Json, Name, one_of
from launch.request.argument_schema import ChangedArguments, RequestArguments
from launch.request.grid import GRID_SCHEMA
from launch.request.initializer import MAX_SEED
from launch.request.launched_kernel import LaunchedKernel
from launch.request.reference_request import Key, Reference
from launch.request.request_part import ReadLater, RequestPart


def _refuse_differential(check: Any) -> Any:
    if check == "differential":
        message = (
            "the check `differential` was removed, because Triton's interpreter runs a different "
            "language than the compiler. Leave it out, and give a reference"
        )
        raise PydanticCustomError("removed_check", message)
    return check


Check = Annotated[
    Literal["memcheck", "racecheck", "initcheck", "determinism", "fuzz", "proof"],
    BeforeValidator(_refuse_differential),
]
FUZZ = "fuzz"
PROOF = "proof"
ReturnMode = Literal["none", "summary", "values", "tensor"]

MAX_CASES = 100
MAX_FUZZ_CASES = 100
MAX_DEADLINE_S = 3600
MAX_ARGUMENTS = 256
MAX_CHECKS = 6

_BUFFER = {"shape": [98432], "dtype": "fp32"}
EXAMPLE: dict[str, Any] = {
    "compilation": {
        name: COMPILATION_EXAMPLE[name] for name in ("source", "constexprs", "target", "options")
    },
    "grid": ["cdiv(n_elements, BLOCK_SIZE)"],
    "arguments": {
        "x_ptr": {**_BUFFER, "init": {"kind": "uniform", "seed": 1}},
        "y_ptr": {**_BUFFER, "init": {"kind": "normal", "seed": 2}},
        "output_ptr": {**_BUFFER, "output": True},
        "n_elements": 98432,
    },
    "reference": {"source": "def reference(x_ptr, y_ptr, **_):\n    return x_ptr + y_ptr\n"},
}

TIMED_EXAMPLE: dict[str, Any] = EXAMPLE | {
    "device": {"target": "cuda:90"},
    "timing": {"fresh_inputs": "values", "min_repeats": 50, "bytes": 3 * 4 * 98432},
}

CPU_EXAMPLE: dict[str, Any] = EXAMPLE | {
    "compilation": {name: COMPILATION_EXAMPLE[name] for name in ("source", "constexprs")},
    "device": "cpu",
    "checks": ["racecheck", "fuzz"],
    "fuzz": {"cases": 8},
    "trace": {"programs": [[0, 0, 0]], "values": True},
}

_Grid = Annotated[Json, WithJsonSchema(GRID_SCHEMA)]


def _or_word(word: str) -> WithJsonSchema:
    """Return the schema of a switch that may also be a word, as a union and not as one enum."""
    return WithJsonSchema({"anyOf": [{"type": "boolean"}, {"type": "string", "enum": [word]}]})


class DeviceClass(RequestPart):
    """A kind of device by target and model, as GET /v1/devices lists them."""

    target: str = Field(max_length=64)
    model: str | None = Field(default=None, max_length=128)


RequestDevice = Annotated[str, Field(title="DeviceName", max_length=64)] | DeviceClass
"""JSON form of the device. `interpreter` is the old name of `cpu`."""


class RepeatsRequest(RequestPart):
    """Settings of timing, and its limits; all repeats end after `max_ms`."""

    warmup_repeats: Annotated[int, Field(ge=0, le=10_000, description="untimed runs first")] = 10
    min_repeats: Annotated[int, Field(ge=1, le=100_000, description="fewest timed runs")] = 20
    max_repeats: Annotated[int, Field(ge=1, le=100_000)] | None = Field(
        default=None,
        description="most timed runs, even if the median is not yet known well; at least three run",
    )
    max_ms: Annotated[float, Field(gt=0, le=60_000, description="for all timed runs")] = 500
    flush_l2: bool = Field(default=True, description="overwrite the L2 cache before each run")
    samples: bool = Field(default=False, description="return the time of every repeat, too")


class TimingRequest(RepeatsRequest):
    """Settings of timing the kernel; all repeats end after `max_ms`."""

    fresh_inputs: Annotated[Literal[False, True, "values"], _or_word("values")] = Field(
        default=False,
        description="true: give each repeat buffers that no earlier run has touched; values: also "
        "give it random inputs of a separate seed, so that no run can reuse another's results",
    )
    flops: Annotated[float, Field(ge=0, le=1e30)] | None = Field(
        default=None, description="of one run, for flops_per_s and floor_us"
    )
    bytes_: Annotated[float, Field(ge=0, le=1e30)] | None = Field(
        default=None,
        alias="bytes",
        description="different bytes that one run reads and writes, for bytes_per_s and floor_us",
    )


class TraceRequest(RequestPart):
    """The programs whose memory accesses to record, and whether to record values, too."""

    programs: Annotated[
        list[Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1, max_length=3)]],
        Field(min_length=1, max_length=64),
    ] = Field(default_factory=lambda: [[0, 0, 0]])
    max_accesses: Annotated[int, Field(ge=1, le=1_000_000)] = 10_000
    values: bool = Field(
        default=False,
        description="also record the value of each operation, to step through the kernel; at most "
        "max_accesses of them",
    )


class FuzzRequest(RequestPart):
    """Settings of fuzzing, if `checks` has it."""

    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] | None = Field(
        default=None,
        description="for everything random in the cases; default: the service chooses one, and "
        "returns it",
    )
    cases: Annotated[int, Field(ge=1, le=MAX_FUZZ_CASES)] = Field(
        default=24, description="most cases to try"
    )
    fixed: list[Annotated[str, Field(max_length=256)]] = Field(
        default_factory=list,
        max_length=MAX_ARGUMENTS,
        description="arguments to keep as they are: a scalar with the extents that it determines, "
        "or the values and layout of a buffer",
    )


class CaseRequest(RequestPart):
    """The changes of one case; null keeps the launch's member."""

    name: str | None = Field(default=None, max_length=256)
    arguments: Annotated[Json, ReadLater(lambda: ChangedArguments)] = Field(
        default=None, description="by name; a buffer without shape or dtype changes fields only"
    )
    grid: _Grid = None
    reference: Reference | None = None


class LaunchRequest(RequestPart):
    """A compilation with described arguments, a grid, and the requested results."""

    removed_fields: ClassVar[Mapping[str, str]] = {
        "fallback": "this field was removed: a kernel that does not compile fails on every "
        "device, and `compilation.diagnostics` explain why. Leave it out"
    }
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [EXAMPLE, TIMED_EXAMPLE, CPU_EXAMPLE],
            "required": ["grid"],
            **one_of("compilation", "compilation_key"),
        }
    )

    compilation: LaunchedKernel | None = Field(
        default=None,
        description="as in POST /v1/compilations; the signature is optional, and on the CPU "
        "device so is the target",
    )
    compilation_key: Key | None = Field(
        default=None, description="of a finished compilation, instead"
    )
    device: Annotated[Json, ReadLater(lambda: RequestDevice)] = Field(
        default="auto",
        description='"auto" (a GPU of the target if there is one, else the CPU device), "cpu" (or '
        '"interpreter", its old name), "gpu", a target, or {"target": ..., "model": ...}',
    )
    grid: _Grid = Field(
        default=None,
        description="one to three integers or expressions such as cdiv(n_elements, BLOCK_SIZE)",
    )
    arguments: Annotated[Json, ReadLater(lambda: RequestArguments)] = Field(
        default_factory=dict, description="by name; a list by position for IR"
    )
    reference: Reference | None = Field(default=None, description="the source of expected outputs")
    cases: list[CaseRequest] = Field(
        default_factory=list,
        max_length=MAX_CASES,
        description="each is one run with changes to the above",
    )
    stop_after_failures: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="end after this many failed cases; default: run all"
    )
    return_: dict[Name, ReturnMode] = Field(
        default_factory=dict,
        alias="return",
        max_length=MAX_ARGUMENTS,
        description="the form in which to return each output; default: its summary",
    )
    timing: TimingRequest | None = Field(default=None, description="on GPUs only")
    checks: list[Check] = Field(
        default_factory=list,
        max_length=MAX_CHECKS,
        description="further checks, each in an extra run",
    )
    fuzz: FuzzRequest | None = Field(default=None, description="for the check `fuzz`")
    profile: Annotated[Literal[False, True, "lines"], _or_word("lines")] = Field(
        default=False,
        description='on GPUs: one extra run under a profiler; "lines": another one, which measures '
        "each source line and each instruction",
        examples=["lines"],
    )
    isolation: Literal["caller", "process"] = Field(
        default="caller", description="process: a separate GPU process for this launch"
    )
    trace: TraceRequest | None = Field(default=None, description="on the CPU device only")
    timeout_s: Annotated[
        float,
        Field(gt=0, le=MAX_TIMEOUT_S, description="for each run, reference and compilation"),
    ] = 30
    deadline_s: Annotated[
        float, Field(gt=0, le=MAX_DEADLINE_S, description="queue, compile and execution")
    ] = 300
    priority: Literal["interactive", "batch"] = Field(
        default="interactive", description="batch: after all interactive work"
    )
