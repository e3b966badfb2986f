"""A launch's answer on its fuzzing, in addition to findings."""

from typing import Literal

from pydantic import Field

from compiler.compilation import Record


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
