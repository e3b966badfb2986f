"""The least possible time of a kernel on a device, and the share of the device that it used.

The bounds are conservative, so that no honest kernel is accused: written outputs must reach the L2
cache, bytes beyond the cache must go through memory, and no kernel is faster than an empty one.
`timing.bytes` and `timing.flops` are the caller's claims; the finding names those that cannot be
true. Times are in microseconds.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from launch.messages import Finding

IMPOSSIBLE_TIME = "impossible_time"
MEDIAN_SLACK, MIN_SLACK = 0.95, 0.75
"""A median, or least time, below this share of the bound is impossible. The margin is there since
ceilings are measured, and single timings are accurate to a fraction of a microsecond."""
NOTHING_SLACK = 0.75
"""The share of the empty kernel's time to require: launch times differ between kernels."""


@dataclass(frozen=True, slots=True)
class Ceilings:
    """The peak rates of a device, measured on it once; FLOP rates come from a table."""

    memory_bytes_per_s: float
    """Memory bandwidth far beyond the L2 cache size: the best of reads, writes and copies."""
    l2_bytes_per_s: float
    """Bandwidth of repeated reads from a part of the L2 cache."""
    launch_us: float
    """The least time of an empty kernel, measured in the same way as all others."""
    l2_bytes: int
    flops_per_s: Mapping[str, float]
    """By operand type: the highest clock times the specified dense operations per clock. Not
    measured; empty for a device that is not in the table."""

    def to_json(self) -> dict[str, Any]:
        """Return the ceilings in the form that `from_json` reads."""
        return asdict(self) | {"flops_per_s": dict(self.flops_per_s)}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "Ceilings":
        """Parse a launcher's ceilings. Raises KeyError, TypeError, ValueError."""
        rates = {str(kind): float(rate) for kind, rate in document["flops_per_s"].items()}
        return cls(
            float(document["memory_bytes_per_s"]),
            float(document["l2_bytes_per_s"]),
            float(document["launch_us"]),
            int(document["l2_bytes"]),
            rates,
        )

    def bytes_us(self, count: float) -> float:
        """Return the least time in microseconds to read or write `count` different bytes.

        Bytes that fit the L2 cache may never reach memory.
        """
        beyond = max(0.0, count - self.l2_bytes)
        return max(count / self.l2_bytes_per_s, beyond / self.memory_bytes_per_s) * 1e6

    def bytes_ceiling(self, count: float) -> float:
        """Return the bandwidth for `count` bytes: that of the L2 cache if they fit, or memory's."""
        return self.l2_bytes_per_s if count <= self.l2_bytes else self.memory_bytes_per_s


@dataclass(frozen=True, slots=True)
class Work:
    """The work of one run: bytes written, and the caller's claims (None: no claim).

    `dtypes` are those of the buffers.
    """

    written_bytes: int
    stated_bytes: float | None = None
    stated_flops: float | None = None
    dtypes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Bound:
    """A lower bound for a kernel's time, with its reason."""

    least_us: float
    why: str
    slack: float = 1.0


@dataclass(frozen=True, slots=True)
class Roofline:
    """A timing compared with a device's ceilings. Shares are None without a claim."""

    floor_us: float
    bytes_share: float | None
    flops_share: float | None
    finding: Finding | None


def roofline_of(ceilings: Ceilings, work: Work, median_us: float, min_us: float) -> Roofline:
    """Return the comparison of a timing with the ceilings of a device."""
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
    yield Bound(launch_us, f"an empty kernel takes {launch_us:.2f} us", NOTHING_SLACK)
    if work.written_bytes:
        least_us = ceilings.bytes_us(work.written_bytes)
        wrote = f"the {work.written_bytes} bytes that it wrote into its outputs"
        yield Bound(least_us, f"{wrote} take {_of_bytes(ceilings, work.written_bytes)}")
    if work.stated_bytes:
        stated = f"timing.bytes is {work.stated_bytes:.6g} bytes, which"
        least_us = ceilings.bytes_us(work.stated_bytes)
        yield Bound(least_us, f"{stated} take {_of_bytes(ceilings, work.stated_bytes)}")
    if work.stated_flops and ceilings.flops_per_s:
        kind, rate = max(ceilings.flops_per_s.items(), key=lambda item: item[1])
        least_us = work.stated_flops / rate * 1e6
        stated = f"timing.flops is {work.stated_flops:.6g} operations, which take"
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
"""The fastest units that can multiply elements of each type."""


def flops_ceiling(ceilings: Ceilings, dtypes: frozenset[str]) -> float | None:
    """Return the FLOP rate of the fastest units for buffers of these types, None if unknown."""
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
        f"The {which} of {time_us:.2f} us is impossible: {floor.why}. Check that every run does "
        "all its work, and that timing.bytes and timing.flops are not too large."
    )
    measure = {"median_us": median_us, "min_us": min_us, "floor_us": round(floor_us, 3)}
    return Finding(kind=IMPOSSIBLE_TIME, message=message, measure=measure)
