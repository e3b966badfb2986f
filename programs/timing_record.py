"""The times of a program on a GPU, as in its record: of a whole call, and of each entry.

Only data: this module does not know how times are measured or compared.
"""

from typing import Literal

from pydantic import Field

from compiler.compilation import Record
from launch.request.launch_record import Timing

MOST_ENTRIES = 200


class ProgramTiming(Timing):
    """Times of one call of a program, from its first entry to its last, in microseconds."""

    method: Literal["graph", "events"] | None = Field(
        default=None,
        description="graph: the call was captured as a CUDA graph; events: its entries were issued "
        "one by one, so times include the host's wherever the GPU waits for it",
    )
    fresh_values: bool | None = Field(
        default=None,
        description="true: each timed run had input values of its own, which the reference got in "
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
