"""A profiler's results for one run of a kernel, as in the record of a launch. Only data."""

from pydantic import Field

from compiler.compilation import Record


class HotLine(Record):
    """A line of the user's: how many of a profiler's samples were of its instructions.

    `file` and `line` are null for what stems from no line of the user's.
    """

    file: str | None
    line: int | None
    samples: int
    samples_percent: float = Field(description="of all samples of the kernel")
    inclusive_samples: int = Field(
        description="with those of the helpers that were inlined from this line"
    )
    instructions: int = Field(description="how often a warp executed one of it")
    top_stall: str | None = Field(
        description="what most of its samples waited for", examples=["long_scoreboard"]
    )


class HotInstruction(Record):
    """An instruction of the kernel, with a profiler's counts."""

    address: int = Field(description="in bytes from where the kernel begins", examples=[512])
    text: str = Field(examples=["LDG.E R8, desc[UR6][R8.64]"])
    file: str | None
    line: int | None
    samples: int
    samples_percent: float
    instructions: int
    top_stall: str | None


class Profile(Record):
    """One run under a profiler, null where the GPU or its tool has no such number."""

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
        default_factory=dict, description="the worst reasons: warps that wait per instruction"
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
