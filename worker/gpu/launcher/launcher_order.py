"""A launch as the worker sends it to a launcher: the header and body of a frame.

The worker has checked what the user wrote; here only what could harm the launcher is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from compiler.abi import Abi
from worker.gpu.launcher.fault import JobFailed

MAX_ALLOCATIONS = 1024
BESIDE = "beside"
"""The stage with which a second run begins, of an order that has one; its limit starts again."""
_MEMBERS = {"abi", "grid", "allocations", "arguments", "timing", "determinism", "cubin"} | {
    "task",  # that it is a launch, which the launcher has read
    "examine",  # the tool of a rerun, which `tool_runner` has read
}


@dataclass(frozen=True, slots=True)
class TimingOrder:
    """The order to time a kernel. Times are in milliseconds of wall clock."""

    warmup_repeats: int = 10
    min_repeats: int = 20
    max_repeats: int | None = None
    max_ms: float = 500.0
    flush_l2: bool = True
    fresh_inputs: bool | Literal["values"] = False
    """Each repeat gets separate buffers, as far as memory allows: see `Rotation`."""
    seed: int = 0
    """The seed for the values of repeats, if each gets different ones: see `iteration_seeds`."""
    values_ms: float = 5000.0
    """The time for making these values, and for reruns on them, in addition to `max_ms`; three
    repeats always run."""
    samples: bool = False


@dataclass(frozen=True, slots=True)
class LauncherOrder:
    """A kernel, its arguments and what is to be found out.

    `allocations` and `arguments` are bound arguments as JSON; `uploads` are the bytes that
    allocations point into (`body`: offset, size).
    """

    cubin: bytes
    abi: Abi
    grid: tuple[int, int, int]
    allocations: Sequence[Mapping[str, Any]]
    arguments: Mapping[str, Mapping[str, Any]]
    uploads: bytes = b""
    timing: TimingOrder | None = None
    determinism: bool = False

    def to_frame(self) -> tuple[dict[str, Any], bytes]:
        """Return header and body, which `from_frame` reads."""
        timing = self.timing
        header = {
            "task": "launch",
            "abi": self.abi.to_json(),
            "grid": list(self.grid),
            "allocations": [dict(allocation) for allocation in self.allocations],
            "arguments": dict(self.arguments),
            "timing": None
            if timing is None
            else {name: getattr(timing, name) for name in TimingOrder.__slots__},
            "determinism": self.determinism,
            "cubin": [len(self.uploads), len(self.cubin)],
        }
        return header, self.uploads + self.cubin

    @classmethod
    def from_frame(cls, header: Mapping[str, Any], body: bytes) -> "LauncherOrder":
        """Return the job in a frame. Raises JobFailed if it is invalid."""
        if unknown := header.keys() - _MEMBERS:
            names = ", ".join(sorted(unknown))
            raise JobFailed("malformed_job", f"the launch has members that are not known: {names}")
        try:
            offset, size = header["cubin"]
            x, y, z = (int(extent) for extent in header["grid"])
            timing = header["timing"]
            job = cls(
                cubin=body[offset : offset + size],
                abi=Abi.from_json(header["abi"]),
                grid=(x, y, z),
                allocations=header["allocations"],
                arguments=header["arguments"],
                uploads=body[:offset],
                timing=TimingOrder(**timing) if timing else None,
                determinism=bool(header["determinism"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise JobFailed("malformed_job", f"the launch cannot be read: {error!r}") from error
        if len(job.allocations) > MAX_ALLOCATIONS:
            message = f"{len(job.allocations)} allocations; at most {MAX_ALLOCATIONS} are possible"
            raise JobFailed("malformed_job", message)
        return job
