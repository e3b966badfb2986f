"""The body of POST /v1/proofs: a kernel, what every launch of it keeps, and what to prove."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, WithJsonSchema

from compiler.request.compile_request import EXAMPLE as COMPILATION_EXAMPLE
from compiler.request.compile_request import Json, Name, one_of
from launch.contract.text import MAX_CHARACTERS
from launch.request.grid import GRID_SCHEMA
from launch.request.launch_request import MAX_DEADLINE_S
from launch.request.launched_kernel import LaunchedKernel
from launch.request.request_part import ReadLater, RequestPart

ProofCheck = Literal["bounds", "overflow", "races"]
CHECKS: tuple[ProofCheck, ...] = ("bounds", "overflow")
"""The checks of a request that names none; races take longer."""
DEADLINE_S = 300.0
MAX_CASES = 8
MAX_ARGUMENTS = 256
MAX_RANK = 8
MAX_SIZE = 2**31
MAX_BUFFER = 2**40
_Size = Annotated[int, Field(ge=0, le=2**40)]

ADD_CONTRACT = (
    "x_ptr: n_elements\ny_ptr: n_elements\noutput_ptr: n_elements\n"
    "grid: cdiv(n_elements, BLOCK_SIZE)\n"
)
EXAMPLE: dict[str, Any] = {
    **{name: COMPILATION_EXAMPLE[name] for name in ("source", "signature", "constexprs")},
    "contract": ADD_CONTRACT,
}
CASES_EXAMPLE: dict[str, Any] = {
    **{name: COMPILATION_EXAMPLE[name] for name in ("source", "constexprs")},
    "cases": [
        {
            "arguments": {
                **{
                    name: {"shape": [n], "dtype": "fp32", "init": {"kind": "zeros"}}
                    for name in ("x_ptr", "y_ptr")
                },
                "output_ptr": {"shape": [n], "dtype": "fp32", "output": True},
                "n_elements": n,
            },
            "grid": [-(-n // 1024)],
        }
        for n in (4099, 10_007, 98_429)
    ],
}


class ProofBuffer(RequestPart):
    """A buffer of a case, as in a launch; strides in elements. Contents do not matter."""

    shape: Annotated[list[_Size], Field(max_length=MAX_RANK, fail_fast=True)]
    dtype: str = Field(default="fp32", max_length=64)
    strides: Annotated[list[_Size], Field(max_length=MAX_RANK, fail_fast=True)] | None = None
    init: Json = Field(default=None, description="ignored")
    output: bool = Field(default=False, description="ignored")


ProofArgument = ProofBuffer | bool | int | float


class ProofCase(RequestPart):
    """One launch that is right. Cases with other sizes, best primes, tell sizes apart."""

    arguments: Annotated[
        dict[Name, Annotated[Json, ReadLater(lambda: ProofArgument)]],
        Field(max_length=MAX_ARGUMENTS),
    ]
    grid: Annotated[Json, WithJsonSchema(GRID_SCHEMA)]


class ProofLimits(RequestPart):
    """The largest sizes that a proof is about."""

    size: Annotated[int, Field(ge=1, le=MAX_SIZE, description="of a scalar or a size")] = 2**30
    elements: Annotated[int, Field(ge=1, le=MAX_BUFFER, description="of a buffer")] = 2**36


class EquivalentKernel(LaunchedKernel):
    """One of two kernels to compare, with its own contract."""

    model_config = ConfigDict(json_schema_extra=one_of("compilation", "source", "ir"))

    compilation: Json = Field(default=None, description="as in a proof")
    contract: Annotated[str, Field(max_length=MAX_CHARACTERS)] | None = Field(
        default=None, description="default: that of the whole request"
    )


class ProofRequest(LaunchedKernel):
    """A kernel as in POST /v1/compilations, or a finished compilation, with a contract."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [EXAMPLE, CASES_EXAMPLE],
            **one_of("compilation", "source", "ir", "equivalent"),
        }
    )

    compilation: Json = Field(
        default=None,
        description="instead of `source` and `ir`: the key of a compilation, or a body of "
        "POST /v1/compilations",
        json_schema_extra={
            "anyOf": [
                {"title": "CompilationKey", "type": "string"},
                {"title": "CompilationBody", "type": "object"},
                {"type": "null"},
            ]
        },
    )
    contract: Annotated[str, Field(max_length=MAX_CHARACTERS)] | None = Field(
        default=None, description="what every launch keeps; docs/reference/proofs.md"
    )
    equivalent: Annotated[list[EquivalentKernel], Field(min_length=2, max_length=2)] | None = Field(
        default=None,
        description="instead of one kernel: two elementwise ones; do they store the same, for all "
        "sizes? Over loads relative to the stored element, and never across reassociation",
    )
    cases: Annotated[list[ProofCase], Field(max_length=MAX_CASES, fail_fast=True)] = Field(
        default_factory=list,
        description="instead of `contract`: launches to infer it from, best three whose sizes are "
        "different primes",
    )
    checks: Annotated[list[ProofCheck], Field(min_length=1, max_length=3)] = Field(
        default_factory=lambda: list(CHECKS)
    )
    limits: ProofLimits = Field(default_factory=ProofLimits)
    deadline_s: Annotated[float, Field(gt=0, le=MAX_DEADLINE_S)] = Field(
        default=DEADLINE_S, description="for everything, from the post on"
    )
