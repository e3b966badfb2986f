"""What a worker and a replaying child say to each other: one definition for both sides.

Standard library only: a worker has no torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from compiler.messages.orders import IrBounds, Order
from compiler.target import Target
from launch.messages import MOST_BATCH_ELEMENTS, Finding, Place

ORDER_DEPENDENT = "order_dependent"
"""The finding that the order of programs decides what comes out."""
Check = Literal["determinism", "initcheck", "racecheck"]
CALLS: tuple[Literal["run", "run2"], ...] = ("run", "run2")
"""The phases that are calls of the program, in their order."""
MOST_PARAMETERS = 2_000
"""Of a model: whether these have the values of the reference's can be told."""
MOST_OUTPUT_BYTES = 256 << 20
"""Of all outputs of both calls together, as they leave the child."""


@dataclass(frozen=True, kw_only=True)
class KernelText:
    """The IR of a kernel: where it lies, of which stage, and what it takes at run time, in order.

    `parameters` are paths: `x_ptr`, or `pair.1` for an item of a tuple.
    """

    ir: Place
    stage: str
    parameters: Sequence[str]
    fp_fusion: bool = True
    """The option `enable_fp_fusion`."""


@dataclass(frozen=True, kw_only=True)
class ReplayOrder(Order):
    """Replay a tape on the CPU: both of its calls, and twice where determinism is asked for.

    `inputs_tape` is where the tape lies whose ops make the inputs; None: the tape's own.
    """

    task = "replay"
    profile = "back"
    tape: Place
    inputs_tape: Place | None = None
    kernels: Mapping[str, KernelText]
    """By a name that `launches` know."""
    launches: Sequence[str]
    """For each launch of the tape, in its order, the name of its kernel."""
    variants: Sequence[int] = ()
    """For each launch the number of its variant; none: each runs as it was recorded."""
    target: Target
    files: Sequence[str]
    """The user's, by path: findings name places in them."""
    seed: int
    checks: Sequence[Check] = ()
    memory_bytes: int
    """What all tensors may take at one time."""
    batch_elements: int = MOST_BATCH_ELEMENTS
    """As in a RunOrder."""
    ir_bounds: IrBounds = field(default_factory=IrBounds)
    limit_s: float | None = None
    """When the child that replays it is ended."""
    announce: bool = False
    """Send `op:<index>` before each op, so that it is known where the child ended."""


@dataclass(frozen=True, kw_only=True)
class ReplayReport:
    """How a replay went. Outputs were sent as `output:<call>:<position>`, elements in C order.

    `unwritten:<call>:<position>` follows one with elements that nobody wrote: a bit for each.
    `input:<call>:<position>` are inputs that a call changed in place, as it left them.
    """

    ending: Literal["finished", "out_of_memory", "crashed"]
    findings: list[Finding]
    peak_bytes: int
    """What all tensors take at one time."""
    deterministic: bool | None = None
    """Whether two replays gave the same bits; null where there was one."""
    parameters: Sequence[str | None] = ()
    """A digest of each parameter's and buffer's first values, before the first call.

    In the order of the tape; null for one that no call needs.
    """


def output_stage(call: int, position: int) -> str:
    """Return the name under which an output of a call is sent."""
    return f"output:{call}:{position}"


def unwritten_stage(call: int, position: int) -> str:
    """Return the name under which is sent which of its elements nobody wrote."""
    return f"unwritten:{call}:{position}"


def input_stage(call: int, position: int) -> str:
    """Return the name under which is sent what a call left in an input that it changed."""
    return f"input:{call}:{position}"


def op_stage(index: int) -> str:
    """Return the name under which is sent that an op begins."""
    return f"op:{index}"
