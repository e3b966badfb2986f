"""The result of one timed launch of a variant, as far as a search needs it."""

from dataclasses import dataclass

from launch.request.launch_record import Launch, Timing
from launch.request.verdict import GOOD, Verdict

TIME_FINDINGS = ("impossible_time", "state_kept")
"""Findings that make a time worthless, whatever the verdict is."""


@dataclass(frozen=True, slots=True)
class MeasuredTime:
    """The median of `repeats` timed runs in microseconds.

    Another launch of the same has its median within `low_us` and `high_us` in 19 of 20 tries.
    """

    median_us: float
    low_us: float
    high_us: float
    repeats: int
    noisy: bool = False

    @classmethod
    def of(cls, timing: Timing) -> "MeasuredTime":
        """Return the time that a launch answers."""
        low, high = timing.interval_us or (timing.min_us, timing.p80_us)
        return cls(timing.median_us, low, high, timing.repeats, timing.noisy)

    def shown(self) -> str:
        """Return it as a message quotes it."""
        return f"{self.median_us:.4g} µs ({self.low_us:.4g} to {self.high_us:.4g})"


@dataclass(frozen=True, slots=True)
class Measurement:
    """One launch of a variant. Without a verdict it could not be run; without a time, not timed."""

    launch_id: str
    verdict: Verdict | None
    time: MeasuredTime | None = None
    time_finding: str | None = None
    """The finding that makes the time worthless."""

    @property
    def is_wrong(self) -> bool:
        """True if the variant is excluded because of the run."""
        return self.verdict not in GOOD

    def is_right(self, *, has_reference: bool) -> bool:
        """Return True if the run matched the reference, if there is one."""
        return self.verdict is Verdict.PASSED or (not has_reference and not self.is_wrong)


def measurement_of(launch: Launch) -> Measurement:
    """Return the measurement of a variant from a finished launch without cases."""
    kinds = [finding.kind for finding in launch.findings or []]
    time_finding = next((kind for kind in TIME_FINDINGS if kind in kinds), None)
    time = MeasuredTime.of(launch.timing) if launch.timing is not None else None
    if launch.timing is not None and launch.timing.plausible is False:
        time_finding = TIME_FINDINGS[0]
    return Measurement(launch.id, launch.verdict, time, time_finding)
