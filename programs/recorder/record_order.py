"""What a record child is told to record, and what it answers.

Standard library only: both sides of the wall read it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compiler.messages.orders import Order
from programs.tape.tape_bounds import MAX_TAPE_BYTES


@dataclass(frozen=True, kw_only=True)
class RecordOrder(Order):
    """Record the program whose texts are the frame's body: JSON, {"source", "files"}.

    `entries` say what may be called, and the first that the source has is: {"kind": "model",
    "class"}, {"kind": "function", "name"}, {"kind": "script", "outputs": names or null}, or
    {"kind": "inputs", "name"}, which only makes inputs. `inputs` are structures of a tape with
    {"tensor": {"dtype", "shape", "strides", "offset", "storage", "storage_bytes", "device"}} in
    the place of tensors: `storage` is a number, equal for views of one storage, and without it
    they are contiguous. null: what the program's own `get_inputs` makes. `inputs2` are the second
    call's, null: as the first's. `init_inputs` are as `inputs`. `device` is where a model and
    inputs that the program makes are moved to.
    """

    task = "record"
    profile = "record"
    stages = frozenset({"tape"})
    entries: Sequence[Mapping[str, Any]]
    inputs: Sequence[Any] | None = None
    inputs2: Sequence[Any] | None = None
    init_inputs: Sequence[Any] | None = None
    seed: int = 42
    inputs_seed: int | None = None
    """What `random` and NumPy draw from while the program makes its inputs; null: from `seed`, as
    before and behind. No candidate is told it: it is given its inputs."""
    device: str = "cuda"
    max_ops: int = 110_000
    max_tensors: int = 150_000
    max_tape_bytes: int = MAX_TAPE_BYTES


@dataclass(frozen=True, kw_only=True)
class Unrecordable:
    """Why there is no tape: a reason of `not_recordable.REASONS`, and the user's line."""

    reason: str
    detail: str
    file: str | None
    line: int | None


@dataclass(frozen=True, kw_only=True)
class RecordReport:
    """The end of a recording; None: the tape was sent as the stage `tape`."""

    not_recordable: Unrecordable | None
    draws_inputs: bool = False
    """Whether inputs depend on `inputs_seed`."""
