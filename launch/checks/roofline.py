"""The minimum time of a kernel on a device, and the share of the device that it used.

Only what must be so is claimed, so that no honest kernel is accused: what a run wrote into its
outputs has to reach the L2 cache, what exceeds the cache has to pass the memory, and no kernel ends
sooner than one that does nothing. Bytes and FLOPs that the caller states are the caller's claims;
where they cannot be true, the finding says so. Pure; times in microseconds.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from launch.messages import Finding

IMPOSSIBLE_TIME = "impossible_time"
MEDIAN_SLACK, MIN_SLACK = 0.95, 0.75
"""A median, or the least time, is impossible below this part of the floor: ceilings are measured,
and single timings are known to a part of a microsecond only."""
NOTHING_SLACK = 0.75
"""Share of the empty kernel's minimum time: launch times differ slightly between kernels."""


@dataclass(frozen=True, slots=True)
class Ceilings:
    """The most that a device does, measured on it once, but for FLOPs, which are of a table."""

    memory_bytes_per_s: float
    """To or from memory, of sizes far beyond the L2 cache: the best of reads, writes and copies."""
    l2_bytes_per_s: float
    """Read again and again from a part of the L2 cache."""
    launch_us: float
    """The least time of a kernel that does nothing, by the stopwatch that times all others."""
    l2_bytes: int
    flops_per_s: Mapping[str, float]
    """By type of the factors: the highest clock times what the multiprocessors are specified to
    do in a clock, dense. Not measured; empty for a device that the table does not have."""

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return asdict(self) | {"flops_per_s": dict(self.flops_per_s)}

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> "Ceilings":
        """Return the ceilings that a launcher says. Raises KeyError, TypeError, ValueError."""
        rates = {str(kind): float(rate) for kind, rate in said["flops_per_s"].items()}
        return cls(
            float(said["memory_bytes_per_s"]),
            float(said["l2_bytes_per_s"]),
            float(said["launch_us"]),
            int(said["l2_bytes"]),
            rates,
        )

    def bytes_us(self, count: float) -> float:
        """Return the minimum time to read or write `bytes` different bytes.

        As many as the L2 cache holds may never pass the memory.
        """
        beyond = max(0.0, count - self.l2_bytes)
        return max(count / self.l2_bytes_per_s, beyond / self.memory_bytes_per_s) * 1e6

    def bytes_ceiling(self, count: float) -> float:
        """Return the memory ceiling for so many bytes: that of the cache that holds them."""
        return self.l2_bytes_per_s if count <= self.l2_bytes else self.memory_bytes_per_s


@dataclass(frozen=True, slots=True)
class Work:
    """The work of one run: written bytes, and the caller's statements about it (None: nothing).

    `dtypes` are those of the buffers.
    """

    written_bytes: int
    stated_bytes: float | None = None
    stated_flops: float | None = None
    dtypes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Bound:
    """One reason why a kernel cannot be faster, in words and as a time."""

    least_us: float
    why: str
    slack: float = 1.0


@dataclass(frozen=True, slots=True)
class Roofline:
    """A timing seen under a device's ceilings. Shares are None where nothing was stated."""

    floor_us: float
    bytes_share: float | None
    flops_share: float | None
    finding: Finding | None


def seen_under(ceilings: Ceilings, work: Work, median_us: float, min_us: float) -> Roofline:
    """Return a device's ceilings applied to a timing."""
    bounds = list(_bounds(ceilings, work))
    floor = max(bounds, key=lambda bound: bound.least_us * bound.slack)
    return Roofline(
        floor_us=round(floor.least_us * floor.slack, 3),
        bytes_share=_bytes_share(ceilings, work, median_us),
        flops_share=_flops_share(ceilings, work, median_us),
        finding=_finding(floor, median_us, min_us),
    )


def _bounds(ceilings: Ceilings, work: Work) -> Iterator[Bound]:
    launch_us = ceilings.launch_us
    yield Bound(launch_us, f"a kernel that does nothing takes {launch_us:.2f} us", NOTHING_SLACK)
    if work.written_bytes:
        least_us = ceilings.bytes_us(work.written_bytes)
        wrote = f"the {work.written_bytes} bytes that it wrote into its outputs"
        yield Bound(least_us, f"{wrote} take {_of_bytes(ceilings, work.written_bytes)}")
    if work.stated_bytes:
        stated = f"timing.bytes says that it moves {work.stated_bytes:.6g} bytes, which"
        least_us = ceilings.bytes_us(work.stated_bytes)
        yield Bound(least_us, f"{stated} take {_of_bytes(ceilings, work.stated_bytes)}")
    if work.stated_flops and ceilings.flops_per_s:
        kind, rate = max(ceilings.flops_per_s.items(), key=lambda item: item[1])
        least_us = work.stated_flops / rate * 1e6
        stated = f"timing.flops says {work.stated_flops:.6g} operations, which take"
        yield Bound(
            least_us,
            f"{stated} {least_us:.2f} us at {rate:.4g} per second, the most that the device is "
            f"specified to do, with {kind}",
        )


def _of_bytes(ceilings: Ceilings, count: float) -> str:
    least_us = ceilings.bytes_us(count)
    rates = f"{ceilings.memory_bytes_per_s:.4g} bytes/s of its memory"
    if count > ceilings.l2_bytes:
        held = f"beyond the {ceilings.l2_bytes} that its L2 cache holds"
        return f"{least_us:.2f} us at the {rates}, {held}"
    return f"{least_us:.2f} us at the {ceilings.l2_bytes_per_s:.4g} bytes/s of its L2 cache"


def _bytes_share(ceilings: Ceilings, work: Work, median_us: float) -> float | None:
    if not work.stated_bytes or median_us <= 0:
        return None
    rate = work.stated_bytes / (median_us * 1e-6)
    return round(rate / ceilings.bytes_ceiling(work.stated_bytes), 4)


_FASTEST = {
    "fp64": ("fp64",),
    "fp32": ("tf32", "fp32"),
    "fp16": ("fp16",),
    "bf16": ("fp16",),
    "i8": ("int8",),
    "u8": ("int8",),
}
"""The factor types that tensor cores use for elements of a type."""


def flops_ceiling(ceilings: Ceilings, dtypes: frozenset[str]) -> float | None:
    """Return the ceiling of kernels on buffers of these types: that of the fastest among them."""
    kinds = [kind for dtype in dtypes for kind in _kinds_of(dtype)]
    rates = [ceilings.flops_per_s[kind] for kind in kinds if kind in ceilings.flops_per_s]
    return max(rates, default=None)


def _kinds_of(dtype: str) -> tuple[str, ...]:
    return ("fp8",) if dtype.startswith("fp8") else _FASTEST.get(dtype, ())


def _flops_share(ceilings: Ceilings, work: Work, median_us: float) -> float | None:
    ceiling = flops_ceiling(ceilings, work.dtypes)
    if not work.stated_flops or ceiling is None or median_us <= 0:
        return None
    return round(work.stated_flops / (median_us * 1e-6) / ceiling, 4)


def _finding(floor: Bound, median_us: float, min_us: float) -> Finding | None:
    floor_us = floor.least_us * floor.slack
    if median_us < MEDIAN_SLACK * floor_us:
        which, time_us = "median", median_us
    elif min_us < MIN_SLACK * floor_us:
        which, time_us = "least time", min_us
    else:
        return None
    message = (
        f"The {which} of {time_us:.2f} us cannot be: {floor.why}. Either some runs did not do "
        "their work, or what the request states of it is too much."
    )
    measure = {"median_us": median_us, "min_us": min_us, "floor_us": round(floor_us, 3)}
    return Finding(kind=IMPOSSIBLE_TIME, message=message, measure=measure)
