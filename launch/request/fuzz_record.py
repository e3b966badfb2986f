"""What a launch answers of its fuzzing, beside the finding that there may be."""

from typing import Literal

from pydantic import Field

from compiler.compilation import Record


class Fuzzed(Record):
    """How a launch was fuzzed. What failed is a finding with its `case`."""

    seed: int | str = Field(description="makes the same cases again")
    cases: int = Field(description="so many were tried")
    kinds: dict[str, int] = Field(
        default_factory=dict,
        description="how many of them changed what",
        examples=[{"shapes": 11, "values": 9, "strides": 2, "alignment": 3}],
    )
    varied: list[str] = Field(
        default_factory=list, examples=[["n_elements: 1, 1023, 1025", "values of x_ptr: zeros"]]
    )
    not_varied: list[str] = Field(default_factory=list, description="what was kept, and why")
    skipped: dict[str, int] = Field(
        default_factory=dict, description="further cases that say nothing of the kernel, by reason"
    )
    reference: Literal["float64", "as_given"] | None = Field(
        default=None,
        description="as_given: the reference cannot be called with float64, or the launch does not "
        "match it then",
    )
