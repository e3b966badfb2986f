"""The order of one program to a program launcher, written to and read from a frame.

The worker has checked the tape, and the launcher parses and checks it again. This imports no torch,
which workers lack.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from compiler.abi import Abi
from launch.messages import Tolerance
from worker.gpu.launcher.fault import JobFailed

TASK = "program"
"""The task in the header of such a frame."""
COMPARE = "compare"
"""The stage when both have finished and are compared; the reference began with `BESIDE`."""
MAX_CHANGED = 1000
"""Limit of the storages in a report that a call changed, although none of its ops may."""
_MEMBERS = {
    "task", "tape", "inputs_tape", "kernels", "launches", "seed", "memory_bytes", "timing",
    "determinism", "announce", "beside", "turns", "tolerances",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ProgramTimingOrder:
    """Settings of timing a call. Limits are in milliseconds of wall clock."""

    warmup_repeats: int = 10
    min_repeats: int = 20
    max_repeats: int | None = None
    max_ms: float = 500.0
    flush_l2: bool = True
    samples: bool = False
    entries: bool = True
    """Also time each op."""


@dataclass(frozen=True, slots=True)
class DeviceKernel:
    """A compiled kernel for a GPU."""

    cubin: bytes
    abi: Abi
    scalars: Mapping[str, str]
    """The Triton types of scalar parameters, by path: `n`, or `pair.1` in a tuple."""


@dataclass(frozen=True, slots=True)
class ProgramOrder:
    """A tape, its kernels, and the settings of its replay.

    The ops of `inputs_tape` make the inputs; None: the tape's own do.
    """

    tape: bytes
    inputs_tape: bytes | None
    kernels: Mapping[str, DeviceKernel]
    """Kernels by short name, as in `launches`."""
    launches: Sequence[Sequence[str]]
    """The kernel of each variant, for each launch of the tape in order.

    "" for a variant that does not compile, which never runs.
    """
    seed: int
    memory_bytes: int
    """Limit of the memory of all tensors. The launcher also respects the free memory."""
    timing: ProgramTimingOrder | None = None
    determinism: bool = False
    announce: bool = False
    """Send the stage `op:<index>` before each op, to find where the launcher died."""
    reference: ProgramOrder | None = None
    """The reference, if outputs are compared on the GPU instead of sent."""
    turns: ProgramOrder | None = None
    """The reference, if both are timed in turns."""
    tolerances: Mapping[int, Tolerance] = field(default_factory=dict)
    """The tolerances of outputs, by position; those without one are not compared."""

    def to_frame(self) -> tuple[dict[str, Any], bytes]:
        """Return header and body, from which `from_frame` makes an equal order."""
        parts = _Parts()
        return self._header(parts), b"".join(parts.contents)

    def _header(self, parts: _Parts) -> dict[str, Any]:
        timing, inputs, reference, turns = self.timing, self.inputs_tape, self.reference, self.turns
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
            else {setting.name: getattr(timing, setting.name) for setting in fields(timing)},
            "determinism": self.determinism,
            "announce": self.announce,
            "beside": None if reference is None else reference._header(parts),
            "turns": None if turns is None else turns._header(parts),
            "tolerances": {str(at): asdict(tolerance) for at, tolerance in self.tolerances.items()},
        }

    @classmethod
    def from_frame(cls, header: Mapping[str, Any], body: bytes) -> ProgramOrder:
        """Return the order in a frame. Raises JobFailed if it is invalid."""
        if unknown := header.keys() - _MEMBERS:
            names = ", ".join(sorted(unknown))
            raise _malformed(f"the order has unknown fields: {names}")
        try:
            inputs, timing = header["inputs_tape"], header["timing"]
            reference, turns = header["beside"], header["turns"]
            order = cls(
                tape=_part(body, header["tape"]),
                inputs_tape=None if inputs is None else _part(body, inputs),
                kernels={name: _kernel(kernel, body) for name, kernel in header["kernels"].items()},
                launches=[list(variants) for variants in header["launches"]],
                seed=int(header["seed"]),
                memory_bytes=int(header["memory_bytes"]),
                timing=ProgramTimingOrder(**timing) if timing else None,
                determinism=bool(header["determinism"]),
                announce=bool(header["announce"]),
                reference=None if reference is None else cls.from_frame(reference, body),
                turns=None if turns is None else cls.from_frame(turns, body),
                tolerances={
                    int(at): Tolerance(**members) for at, members in header["tolerances"].items()
                },
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _malformed(f"the program cannot be read: {error!r}") from error
        _check_launches(order)
        return order


class _Parts:
    """The growing body of a frame: parts of bytes, each with offset and size."""

    def __init__(self) -> None:
        self.contents: list[bytes] = []
        self._size = 0

    def add(self, part: bytes) -> list[int]:
        self.contents.append(part)
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
            raise _malformed(f"launch {number} names a kernel that was not sent: {missing[0]!r}")


def _malformed(message: str) -> JobFailed:
    return JobFailed("malformed_job", message)
