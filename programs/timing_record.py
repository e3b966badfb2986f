"""What the record of a program says of its times on a GPU: of all of a call, and of each entry.

Only data; how times are taken, and what two of them say of each other, is not known here.
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
        description="graph: of a CUDA graph that the call was captured as; events: of its entries "
        "issued one by one, with what the host takes for that wherever the GPU waits for it",
    )


class EntryTime(Record):
    """The time of one entry of the tape: an op of ATen, or a launch."""

    op: int = Field(description="its index among the ops of the tape")
    name: str = Field(description="of the overload, or of the kernel")
    file: str | None = None
    line: int | None = None
    us: float = Field(description="median, in microseconds")
    share: float = Field(description="of the sum of all entries")
    is_kernel: bool = Field(description="whether it is a launch of the program's own kernel")
    configuration: int | None = Field(
        default=None, description="of an autotuned launch: which of its configurations ran, from 0"
    )
