"""The times of a program and its reference on a GPU, in total and by entry of the tape."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tritonc.launch_run import times_text
from tritonc.members import read_members

MAX_SHOWN = 5


@dataclass(frozen=True, slots=True)
class ProgramEntry:
    """An op or a launch: `us` microseconds, a `share` of the sum of all entries.

    `is_kernel` marks launches of the program's own kernels, `op` is its index on the tape,
    `configuration` the index of an autotuned kernel's configuration.
    """

    op: int
    name: str
    us: float
    share: float
    is_kernel: bool = False
    file: str | None = None
    line: int | None = None
    configuration: int | None = None

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "ProgramEntry":
        """Parse an entry; unknown members are ignored. Raises TypeError if it is malformed."""
        return read_members(cls, body)


@dataclass(frozen=True, slots=True)
class ProgramTimes:
    """The times of a program, or of one case; `timing` and `reference_timing` as for launches.

    `speedup` is the reference's median divided by the program's, with its confidence interval
    `speedup_interval`; `coverage` is the share of its kernels in `coverage_measure`, "time" or
    "work"; `entries` are sorted by time, longest first. Members without a measurement are None or
    empty.
    """

    timing: Mapping[str, Any] | None = None
    reference_timing: Mapping[str, Any] | None = None
    speedup: float | None = None
    speedup_interval: tuple[float, float] | None = None
    coverage: float | None = None
    coverage_measure: str | None = None
    entries: tuple[ProgramEntry, ...] = ()

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "ProgramTimes":
        """Parse the times of a program or a case."""
        interval = body.get("speedup_interval")
        reference = body.get("reference") or {}
        return read_members(
            cls,
            body,
            reference_timing=body.get("reference_timing") or reference.get("timing"),
            speedup_interval=None if interval is None else (interval[0], interval[1]),
            entries=tuple(map(ProgramEntry.from_json, body.get("entries") or ())),
        )

    def lines(self, names: Mapping[str, str]) -> Iterator[str]:
        """Yield the times as readable lines; `names` map the service's file names to the user's."""
        if self.timing is not None:
            yield f"time: {times_text(self.timing)}"
        if self.reference_timing is not None:
            yield f"reference's time: {times_text(self.reference_timing)}"
        if self.speedup is not None:
            known = self.speedup_interval
            within = f" ({known[0]:.3g} to {known[1]:.3g})" if known is not None else ""
            yield f"speed-up: {self.speedup:.3g}{within}"
        if self.coverage is not None:
            measure = self.coverage_measure or "time"
            yield f"in its own kernels: {self.coverage:.0%} of the {measure}"
        for entry in self.entries[:MAX_SHOWN]:
            yield f"  {entry.us:g} us, {entry.share:.0%}: {_named(entry, names)}"
        if len(self.entries) > MAX_SHOWN:
            yield f"  and {len(self.entries) - MAX_SHOWN} entries more"


def _named(entry: ProgramEntry, names: Mapping[str, str]) -> str:
    file = entry.file or ""
    place = ":".join(filter(None, [names.get(file, file), str(entry.line or "")]))
    which = f", configuration {entry.configuration}" if entry.configuration is not None else ""
    kind = "kernel " if entry.is_kernel else ""
    return f"{kind}{entry.name}{which}" + (f" ({place})" if place else "")
