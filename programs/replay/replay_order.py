"""The messages between a worker and a replaying child, defined once for both sides.

Standard library only: a worker has no torch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from compiler.messages.orders import IrBounds, Order
from compiler.target import Target
from launch.messages import MAX_BATCH_ELEMENTS, BodyRange, Finding, Tolerance

ORDER_DEPENDENT = "order_dependent"
"""The finding that results depend on the order of program instances."""
Check = Literal["determinism", "initcheck", "racecheck"]
CALLS: tuple[Literal["run", "run2"], ...] = ("run", "run2")
"""The phases that are calls of the program, in their order."""
MAX_OUTPUT_BYTES = 256 << 20
"""Limit of the outputs of both calls together that leave the child."""


@dataclass(frozen=True, kw_only=True)
class KernelText:
    """The IR of a kernel: its place in the body, its stage, and its run-time parameters in order.

    `parameters` are paths: `x_ptr`, or `pair.1` for an item of a tuple.
    """

    ir: BodyRange
    stage: str
    parameters: Sequence[str]
    fp_fusion: bool = True
    """The option `enable_fp_fusion`."""


@dataclass(frozen=True, kw_only=True)
class OtherValues:
    """Other values of inputs, and of some parameters."""

    seed: int
    """The seed of the values. No tape may know it."""
    parameters: Sequence[str] = ()
    """The parameters that get other values, too, by name, if they are all 0 or all 1."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A change to a replay: no check runs, and, without `values`, only the first call.

    Outputs are sent as usual.
    """

    noise: Sequence[int] = ()
    """ATen ops, by index, whose results are replaced by noise after they ran."""
    noise_share: float = 1.0
    """The share of a result's elements that are replaced; at least one is."""
    seed: int = 0
    """The seed of the noise. No tape may know it."""
    launches: Literal["run", "replaced"] = "run"
    """`replaced`: no kernel runs, and `copies` are made instead."""
    copies: Sequence[tuple[int, int, int]] = ()
    """The copies that replace launches: op, written tensor, read tensor."""
    values: OtherValues | None = None
    tolerances: Sequence[Tolerance] = ()
    """With `values`, of a reference: of each output. It also runs in fp64.

    Elements of its outputs that differ by more are sent as unwritten. The first call's outputs of
    the usual values are sent in fp64 as `precise:<position>`.
    """
    timed: int = 0
    """Call each ATen op this many times, and measure the least CPU time of a call."""


@dataclass(frozen=True, kw_only=True)
class ReplayOrder(Order):
    """Replay a tape on the CPU: both of its calls, and twice with the check `determinism`.

    `inputs_tape` is the place of the tape that makes the inputs; None: the tape's own ops do.
    """

    task = "replay"
    profile = "back"
    tape: BodyRange
    inputs_tape: BodyRange | None = None
    kernels: Mapping[str, KernelText]
    """Kernels by name, as in `launches`."""
    launches: Sequence[str]
    """The name of each launch's kernel, in the order of the tape."""
    variants: Sequence[int] = ()
    """The number of each launch's variant; empty: each runs as recorded."""
    target: Target
    files: Sequence[str]
    """The user's files, by path, to which findings refer."""
    seed: int
    checks: Sequence[Check] = ()
    memory_bytes: int
    """Limit of the memory of all tensors."""
    batch_elements: int = MAX_BATCH_ELEMENTS
    """As in a RunOrder."""
    ir_bounds: IrBounds = field(default_factory=IrBounds)
    limit_s: float | None = None
    """The time limit of the child."""
    announce: bool = False
    """Send `op:<index>` before each op, to find where the child crashed."""
    experiment: Experiment | None = None


@dataclass(frozen=True)
class InsensitiveOutput:
    """An output of a reference that something matches which needs no input."""

    position: int
    what: str
    difference: float
    """The largest difference."""


@dataclass(frozen=True, kw_only=True)
class ReplayReport:
    """The result of a replay. Outputs were sent as `output:<call>:<position>`, in C order.

    `unwritten:<call>:<position>` follows an output with unwritten elements: a bit for each.
    `input:<call>:<position>` are inputs, parameters and buffers that a call changed in place.
    """

    ending: Literal["finished", "out_of_memory", "crashed"]
    findings: list[Finding]
    peak_bytes: int
    """The peak memory of all tensors."""
    deterministic: bool | None = None
    """True if two replays gave the same bits; null if there was only one."""
    parameters: Sequence[str | None] = ()
    """A digest of each parameter's and buffer's first values, before the first call.

    In the order of the tape; null for one that no call needs.
    """
    op_times_us: Sequence[float] = ()
    """The CPU time of each op, by index, of an experiment with `timed`; 0 for other ops.

    The fixed cost of a call is subtracted.
    """
    insensitive: Sequence[InsensitiveOutput] = ()
    """Of an experiment with tolerances."""


def output_stage(call: int, position: int) -> str:
    """Return the stage of an output of a call."""
    return f"output:{call}:{position}"


def unwritten_stage(call: int, position: int) -> str:
    """Return the stage of the bitmap of an output's unwritten elements."""
    return f"unwritten:{call}:{position}"


def precise_stage(position: int) -> str:
    """Return the stage of an output of the first call in fp64."""
    return f"precise:{position}"


def input_stage(call: int, position: int) -> str:
    """Return the stage of an input, parameter or buffer that a call changed."""
    return f"input:{call}:{position}"


def op_stage(index: int) -> str:
    """Return the stage that announces an op."""
    return f"op:{index}"
