"""The reference of a launch, which its outputs must match, and the tolerances."""

from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema

from compiler.compilation import amended
from compiler.constexpr import pointer_below
from compiler.rejection import FieldError, RequestRejected, collecting
from compiler.request.compile_request import Json, Text
from launch.request.grid import GRID_SCHEMA, parse_grid
from launch.request.request_part import RequestPart

Key = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", max_length=64)]
AtolScale = Literal["absolute", "rms"]
ATOL_SCALE = (
    "`rms`: `atol` is a multiple of the root mean square of the reference's output, so that the "
    "tolerance of small outputs is small, too; default: `absolute`"
)
_Tolerance = Annotated[float, Field(ge=0, le=1e300, allow_inf_nan=False)]


class Reference(RequestPart):
    """A Python function in the request, or another kernel that was compiled before."""

    source: Text | None = Field(
        default=None, min_length=1, description="defines `reference`, called with keywords"
    )
    language: Literal["numpy", "torch"] = Field(
        default="numpy", description="torch if a worker has it; see GET /v1/targets"
    )
    compilation_key: Key | None = Field(default=None, description="of another kernel, instead")
    grid: Annotated[Json, WithJsonSchema(GRID_SCHEMA)] = Field(
        default=None, description="of that kernel; default: the launch's"
    )
    rtol: _Tolerance | None = Field(default=None, description="default: per dtype")
    atol: _Tolerance | None = Field(default=None, description="default: per dtype")
    atol_scale: AtolScale | None = Field(default=None, description=ATOL_SCALE)
    equal_nan: bool = Field(default=False, description="NaN matches NaN")
    max_mismatched_ratio: Annotated[
        float, Field(ge=0, le=1, description="the share of elements that may be off")
    ] = 0.0

    def merged(self, changes: "Reference") -> "Reference":
        """Return this reference with the fields that `changes` sets, and one way to compute it."""
        update: dict[str, Any] = {name: getattr(changes, name) for name in changes.model_fields_set}
        if changes.source is not None:
            update |= {"compilation_key": None, "grid": None}
        elif changes.compilation_key is not None:
            update |= {"source": None}
        return amended(self, **update)


def check_reference(reference: Reference, at: str) -> None:
    """Raise RequestRejected unless a reference is exactly one of the two forms."""
    errors = []
    if (reference.source is None) == (reference.compilation_key is None):
        message = "give either `source`, or the `compilation_key` of another kernel"
        errors.append(FieldError(at, message))
    if reference.source is not None and "\0" in reference.source:
        message = "Python source cannot contain NUL characters"
        errors.append(FieldError(pointer_below(at, "source"), message))
    if reference.grid is not None:
        grid_at = pointer_below(at, "grid")
        if reference.compilation_key is None:
            errors.append(FieldError(grid_at, "only a kernel has a grid"))
        with collecting(errors):
            parse_grid(reference.grid, grid_at)
    if errors:
        raise RequestRejected(*errors)
