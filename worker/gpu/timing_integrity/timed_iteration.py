"""Timed runs that need a closer check, as a launcher reports them to the worker. Pure."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from worker.gpu.launcher.fault import JobFailed


@dataclass(frozen=True, slots=True)
class TimedIteration:
    """One timed run whose outputs are sent; `repeat` counts from 0, runs to warm up are below 0.

    `seeds` are those of its random inputs by argument, empty where its inputs are the launch's.
    """

    repeat: int
    seeds: Mapping[str, int] = field(default_factory=dict)
    differing_bytes: int = 0
    """Of its outputs, from those of another run on the same inputs: the first run, or where it has
    different inputs, one of a freshly loaded kernel."""
    left_bytes: int = 0
    """Bytes of its outputs that it did not write, but the first run did."""
    equals_first: bool = False
    """True if its outputs equal the first run's, although its inputs differ."""

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return asdict(self) | {"seeds": dict(self.seeds)}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "TimedIteration":
        """Return the iteration that a launcher reports. Raises JobFailed."""
        try:
            return cls(**fields)
        except TypeError as error:
            raise JobFailed("malformed_job", f"a timed repeat cannot be read: {error}") from error


@dataclass(frozen=True, slots=True)
class IterationsReport:
    """The counts of timed runs that were compared with another run, and that differed."""

    checked: int = 0
    differing: int = 0
    sent: tuple[TimedIteration, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the members of a launcher's result that report it."""
        return {
            "checked_repeats": self.checked,
            "differing_repeats": self.differing,
            "repeats": [iteration.to_json() for iteration in self.sent],
        }
