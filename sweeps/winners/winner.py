"""A winner as the formats take it: the sweep's data about it, and how it was compiled."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class UsableWinner:
    """The variant that won one problem size on one target.

    `options` are all that it was compiled with, `document` is the winner as the sweep answers it.
    """

    variant: int
    problem_size: str | None
    target: str
    values: Mapping[str, Any]
    median_us: float
    interval_us: tuple[float, float] | None
    verified: bool
    compilation_key: str
    options: Mapping[str, Any]
    document: dict[str, Any]

    @property
    def lead_in_words(self) -> str:
        """Its lead over the second, in words."""
        lead = self.document.get("lead")
        if lead is None:
            return "no other variant could have won"
        low, high = lead["interval_percent"]
        ahead = (
            f"{lead['percent']:.3g} % ahead of row {lead['over']} (from {low:.3g} to {high:.3g})"
        )
        return ahead if lead["clear"] else f"no clear lead: {ahead}"


def usable_winner(stored: Mapping[str, Any], key: str, options: Mapping[str, Any]) -> UsableWinner:
    """Return a winner that the sweep contains, `key` and `options` being its compilation's."""
    interval = stored.get("interval_us")
    return UsableWinner(
        variant=stored["variant"],
        problem_size=stored.get("problem_size"),
        target=stored["target"],
        values=stored.get("values") or {},
        median_us=stored["median_us"],
        interval_us=(interval[0], interval[1]) if interval else None,
        verified=bool(stored.get("verified")),
        compilation_key=key,
        options=options,
        document=dict(stored),
    )
