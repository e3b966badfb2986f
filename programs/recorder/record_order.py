"""The order to record a program, its report, and the reasons why a program cannot be recorded.

Standard library only, as a worker without torch imports it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compiler.messages.orders import Order
from programs.tape.schema import MAX_TAPE_BYTES

REASONS = {
    "value_dependent": "The program reads the value of a tensor, and a recording has none",
    "data_pointer": "The program reads the address of a tensor, and a recording has none",
    "clock": "The program depends on a measured time, and a recording has none",
    "cuda_graph": "The program captures a CUDA graph; leave that to the replay",
    "inline_cuda": "The program compiles code in a language other than Triton",
    "random_state": "The program reads or sets the state of a random generator",
    "generator": "The program makes more random generators than a tape can hold",
    "stream": "The program uses CUDA streams, or copies that do not block, as no tape can express",
    "other_device": "The program uses a device other than cuda:0 and the CPU",
    "unsupported_op": "The program calls an op that a tape cannot hold",
    "unsupported_tensor": "The program makes a tensor that a tape cannot hold",
    "unsupported_argument": "The program passes an op a value that a tape cannot hold",
    "unsupported_launch": "The program launches a kernel in a way that a tape cannot express",
    "large_constant": "The program makes large tensors from Python or NumPy values",
    "too_many_ops": "The program calls more ops than a tape can hold",
    "too_many_tensors": "The program uses more tensors than a tape can hold",
    "too_many_bytes": "The program's tape is too large",
    "missing_module": "The program imports a module that is neither posted nor installed",
    "no_entry": "The program lacks the function or class to call, or one that makes its arguments",
    "bad_inputs": "The program takes or returns something other than tensors and plain values",
    "program_error": "The program raised an exception",
    "syntax_error": "The program cannot be parsed",
}
"""The sentence for each reason; a detail follows it after a colon."""

SLUGS = frozenset({"missing_module", "syntax_error"})
"""The reasons that are slugs of problems themselves, as compilations have them."""

_MAX_DETAIL_CHARS = 2000


class NotRecordable(BaseException):
    """The program cannot be recorded, for a `reason` of `REASONS`.

    Not an `Exception`: a program that catches those would take a path that it takes on no GPU.
    """

    def __init__(self, reason: str, detail: str = "", place: tuple[str, int] | None = None) -> None:
        if reason not in REASONS:
            raise ValueError(f"unknown reason {reason!r}: REASONS lists the known ones")
        self.reason = reason
        self.detail = detail[:_MAX_DETAIL_CHARS]
        self.place = place
        super().__init__(f"{reason}: {self.detail}")


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


MAX_ATTEMPTS = 10
"""The number of attempts of a program that are reported, the first ones."""


@dataclass(frozen=True, kw_only=True)
class RecordReport:
    """The result of a recording. `not_recordable` is None if the tape was sent, as stage `tape`."""

    not_recordable: Unrecordable | None
    draws_inputs: bool = False
    """True if inputs depend on `inputs_seed`."""
    attempts: Sequence[SandboxAttempt] = ()
