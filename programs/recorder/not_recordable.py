"""Why a program cannot be recorded: a closed list of reasons, and how one is raised.

Standard library only, and knows nothing of what is recorded.
"""

from __future__ import annotations

REASONS = {
    "value_dependent": "it asks for the value of a tensor, and a recording has none",
    "data_pointer": "it asks for the address of a tensor, and a recording has none",
    "clock": "it measures time, which a recording does not have",
    "cuda_graph": "it captures a CUDA graph; leave that to the replay",
    "inline_cuda": "it compiles code in another language than Triton",
    "random_state": "it reads or sets the state of a random generator",
    "generator": "it has more random generators of its own than a tape may hold",
    "stream": "it uses CUDA streams in a way that a tape cannot hold",
    "other_device": "it uses another device than cuda:0 and the CPU",
    "unsupported_op": "it calls an op that is not of ATen, or that has no fake kernel",
    "unsupported_tensor": "it makes a sparse, quantized, nested or otherwise unusual tensor",
    "unsupported_argument": "it gives an op a value that a tape cannot hold",
    "unsupported_launch": "it launches a kernel in a way that a tape cannot hold",
    "large_constant": "it makes large tensors of Python or NumPy values",
    "too_many_ops": "it calls more ops than a tape may have",
    "too_many_tensors": "it makes more tensors than a tape may have",
    "too_many_bytes": "its tape is larger than a tape may be",
    "missing_package": "it imports a package that is not installed beside the recorder",
    "no_entry": "what the entry names, or what makes its arguments, is not there",
    "bad_inputs": "what it returns as inputs or outputs is not made of tensors and plain values",
    "program_error": "it raised an error of its own",
}
"""What each reason says of the program."""

_MAX_DETAIL_CHARS = 2000


class NotRecordable(BaseException):
    """The program cannot be recorded, as `reason` of `REASONS` says.

    No `Exception`, as a program that catches one would go on as it would not on a GPU.
    """

    def __init__(self, reason: str, detail: str = "", place: tuple[str, int] | None = None) -> None:
        if reason not in REASONS:
            raise ValueError(f"{reason!r} is no reason")
        self.reason = reason
        self.detail = detail[:_MAX_DETAIL_CHARS]
        self.place = place
        super().__init__(f"{reason}: {self.detail}")
