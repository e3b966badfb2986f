"""One program as the worker sends it to a program launcher: a frame's header and body, and back.

The worker has read the tape; the launcher reads it again from nothing. Imports no torch: workers
have none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from compiler.abi import Abi
from launch.messages import Tolerance
from worker.gpu.launcher.fault import JobFailed

TASK = "program"
"""What the header of such a frame calls its task."""
COMPARE = "compare"
"""The stage after `BESIDE`, with which the reference begins: both are over, and are compared."""
_MEMBERS = {
    "task", "tape", "inputs_tape", "kernels", "launches", "seed", "memory_bytes", "timing",
    "determinism", "announce", "beside", "tolerances",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ProgramTimingOrder:
    """How a call of a program is to be timed. Times in milliseconds of wall clock."""

    warmup_repeats: int = 10
    min_repeats: int = 20
    max_repeats: int | None = None
    max_ms: float = 500.0
    flush_l2: bool = True
    samples: bool = False
    entries: bool = True
    """Time each op by itself, too."""
    sends_iterations: bool = True
    """Send what some timed runs returned."""


@dataclass(frozen=True, slots=True)
class DeviceKernel:
    """A kernel as a GPU takes it."""

    cubin: bytes
    abi: Abi
    scalars: Mapping[str, str]
    """The Triton types of what is passed by value, by path: `n`, or `pair.1` of a tuple."""


@dataclass(frozen=True, slots=True)
class ProgramOrder:
    """A tape, its kernels, and what is to be found out.

    `inputs_tape` is the tape whose ops make the inputs; None: the tape's own do.
    """

    tape: bytes
    inputs_tape: bytes | None
    kernels: Mapping[str, DeviceKernel]
    """By a short name that `launches` know."""
    launches: Sequence[Sequence[str]]
    """For each launch of the tape in its order: the kernel of each of its variants.

    Empty for a variant that does not compile, which is never run.
    """
    seed: int
    memory_bytes: int
    """The most that all tensors may take at one time; the launcher has what is free as well."""
    timing: ProgramTimingOrder | None = None
    determinism: bool = False
    announce: bool = False
    """Send the stage `op:<index>` before each op, so that it is known where the launcher ended."""
    beside: ProgramOrder | None = None
    """The reference, where outputs are compared on the GPU and not sent."""
    tolerances: Mapping[int, Tolerance] = field(default_factory=dict)
    """By position, how far outputs may be from those of `beside`; one without is not compared."""

    def to_frame(self) -> tuple[dict[str, Any], bytes]:
        """Return header and body; `from_frame` makes the same order of them."""
        parts = _Parts()
        return self._header(parts), b"".join(parts.found)

    def _header(self, parts: _Parts) -> dict[str, Any]:
        timing, inputs, beside = self.timing, self.inputs_tape, self.beside
        return {
            "task": TASK,
            "tape": parts.add(self.tape),
            "inputs_tape": None if inputs is None else parts.add(inputs),
            "kernels": {
                name: _kernel_header(kernel, parts) for name, kernel in self.kernels.items()
            },
            "launches": [list(variants) for variants in self.launches],
            "seed": self.seed,
            "memory_bytes": self.memory_bytes,
            "timing": None
            if timing is None
            else {one.name: getattr(timing, one.name) for one in fields(timing)},
            "determinism": self.determinism,
            "announce": self.announce,
            "beside": None if beside is None else beside._header(parts),
            "tolerances": {str(at): asdict(one) for at, one in self.tolerances.items()},
        }

    @classmethod
    def from_frame(cls, header: Mapping[str, Any], body: bytes) -> ProgramOrder:
        """Return the order of a frame. Raises JobFailed when it is none."""
        if unknown := header.keys() - _MEMBERS:
            names = ", ".join(sorted(unknown))
            raise _malformed(f"the program has members that are not known: {names}")
        try:
            inputs, timing, beside = header["inputs_tape"], header["timing"], header["beside"]
            order = cls(
                tape=_part(body, header["tape"]),
                inputs_tape=None if inputs is None else _part(body, inputs),
                kernels={name: _kernel(one, body) for name, one in header["kernels"].items()},
                launches=[list(variants) for variants in header["launches"]],
                seed=int(header["seed"]),
                memory_bytes=int(header["memory_bytes"]),
                timing=ProgramTimingOrder(**timing) if timing else None,
                determinism=bool(header["determinism"]),
                announce=bool(header["announce"]),
                beside=None if beside is None else cls.from_frame(beside, body),
                tolerances={int(at): Tolerance(**one) for at, one in header["tolerances"].items()},
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _malformed(f"the program cannot be read: {error!r}") from error
        _check_launches(order)
        return order


class _Parts:
    """The body of a frame as it grows: bytes, each told by offset and size."""

    def __init__(self) -> None:
        self.found: list[bytes] = []
        self._size = 0

    def add(self, part: bytes) -> list[int]:
        self.found.append(part)
        self._size += len(part)
        return [self._size - len(part), len(part)]


def _kernel_header(kernel: DeviceKernel, parts: _Parts) -> dict[str, Any]:
    return {
        "cubin": parts.add(kernel.cubin),
        "abi": kernel.abi.to_json(),
        "scalars": dict(kernel.scalars),
    }


def _kernel(header: Mapping[str, Any], body: bytes) -> DeviceKernel:
    return DeviceKernel(
        cubin=_part(body, header["cubin"]),
        abi=Abi.from_json(header["abi"]),
        scalars=dict(header["scalars"]),
    )


def _part(body: bytes, place: Sequence[int]) -> bytes:
    offset, size = (int(number) for number in place)
    if offset < 0 or size < 0 or offset + size > len(body):
        message = f"bytes {offset} to {offset + size} of a body of {len(body)}"
        raise ValueError(message)
    return body[offset : offset + size]


def _check_launches(order: ProgramOrder) -> None:
    for number, variants in enumerate(order.launches):
        if not any(variants):
            raise _malformed(f"launch {number} has no kernel")
        if missing := [name for name in variants if name and name not in order.kernels]:
            raise _malformed(f"launch {number} is of a kernel that did not come: {missing[0]!r}")


def _malformed(message: str) -> JobFailed:
    return JobFailed("malformed_job", message)
