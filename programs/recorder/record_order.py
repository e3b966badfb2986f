"""The messages between a worker and a record child.

Standard library only, as a worker without torch imports it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compiler.messages.orders import Order
from programs.tape.tape_bounds import MAX_TAPE_BYTES


@dataclass(frozen=True, kw_only=True)
class RecordOrder(Order):
    """Record the program in the frame's body, which is JSON: {"source", "files"}.

    The first of `entries` that the source defines is called: {"kind": "model", "class"},
    {"kind": "function", "name"}, {"kind": "script", "outputs": names or null}, or
    {"kind": "inputs", "name"}, which only makes inputs.

    `inputs` are structures of a tape with {"tensor": {"dtype", "shape", "strides", "offset",
    "storage", "storage_bytes", "device"}} instead of tensors. `storage` is a number, the same for
    views of one storage; tensors without it are contiguous. null: the program's own `get_inputs`
    makes them. `inputs2` are those of the second call; null: specs as of the first. `init_inputs`
    are like `inputs`. Models, and inputs that the program makes, are moved to `device`.
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
    """The seed of `random` and NumPy while the program makes its inputs; null: `seed`.

    No candidate receives it, as candidates receive their inputs.
    """
    device: str = "cuda"
    max_ops: int = 110_000
    max_tensors: int = 150_000
    max_tape_bytes: int = MAX_TAPE_BYTES


@dataclass(frozen=True, kw_only=True)
class Unrecordable:
    """The reason why there is no tape, from `not_recordable.REASONS`, and the user's line."""

    reason: str
    detail: str
    file: str | None
    line: int | None


@dataclass(frozen=True, kw_only=True)
class SandboxAttempt:
    """Something outside of the sandbox that the program tried to reach, at the user's line."""

    what: str
    file: str
    line: int


MOST_ATTEMPTS = 10
"""The first so many attempts of a program are reported."""


@dataclass(frozen=True, kw_only=True)
class RecordReport:
    """The result of a recording. `not_recordable` is None if the tape was sent, as stage `tape`."""

    not_recordable: Unrecordable | None
    draws_inputs: bool = False
    """True if inputs depend on `inputs_seed`."""
    attempts: Sequence[SandboxAttempt] = ()
