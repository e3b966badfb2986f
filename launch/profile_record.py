"""A profile of one run of a kernel, as in the record of a launch. Only data."""

from pydantic import Field

from compiler.compilation import Record


class HotLine(Record):
    """A source line of the user, with the profiler's samples of its instructions.

    `file` and `line` are null for instructions that come from no user line.
    """

    file: str | None
    line: int | None
    samples: int
    samples_percent: float = Field(description="of all samples of the kernel")
    inclusive_samples: int = Field(
        description="including samples of helpers inlined into this line"
    )
    instructions: int = Field(description="how often a warp executed one of its instructions")
    top_stall: str | None = Field(
        description="the reason that most of its samples waited for", examples=["long_scoreboard"]
    )


class HotInstruction(Record):
    """An instruction of the kernel, with the profiler's counts."""

    address: int = Field(description="in bytes from the start of the kernel", examples=[512])
    text: str = Field(examples=["LDG.E R8, desc[UR6][R8.64]"])
    file: str | None
    line: int | None
    samples: int
    samples_percent: float
    instructions: int
    top_stall: str | None


class Profile(Record):
    """One run under a profiler; values are null if the GPU or its tool does not measure them."""

    duration_us: float | None = None
    sm_throughput_percent: float | None = None
    dram_throughput_percent: float | None = None
    dram_read_bytes: int | None = None
    dram_write_bytes: int | None = None
    l1_hit_percent: float | None = None
    l2_hit_percent: float | None = None
    achieved_occupancy_percent: float | None = None
    theoretical_occupancy_percent: float | None = None
    tensor_pipe_percent: float | None = None
    registers: int | None = None
    waves_per_sm: float | None = None
    stalls: dict[str, float] = Field(
        default_factory=dict, description="the main stall reasons: waiting warps per instruction"
    )
    samples: int | None = Field(default=None, description="of all lines; null without `lines`")
    lines: list[HotLine] | None = Field(
        default=None, description='profile "lines": the lines with the most samples, these first'
    )
    sass: list[HotInstruction] | None = Field(
        default=None, description="the instructions with the most samples, in the kernel's order"
    )
    sass_left_out: int | None = Field(
        default=None, description="instructions that are not in `sass`, with fewer samples"
    )
