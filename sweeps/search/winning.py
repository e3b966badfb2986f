"""The winner of one problem size, or why there is none. Pure.

Only a variant may win that was right whenever it ran, at every size, and whose times are reliable.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from compiler.compilation import Record
from launch.request.launch_record import launch_url
from sweeps.search.candidate import Candidate, ProblemSize
from sweeps.search.measurement import MeasuredTime, Measurement
from sweeps.search.side_by_side import Lead, geometric_mean, lead_apart, lead_in_turn


class Winner(Record):
    """The fastest variant of a problem size; `variant` is null where there is none."""

    problem_size: str | None = Field(description="the label of its arguments; null: all have one")
    target: str
    variant: int | None = Field(description="the index of its row")
    values: dict[str, Any] = Field(default_factory=dict, description="by axis")
    compilation_key: str | None = None
    launch_id: str | None = Field(default=None, description="the launch whose time stands here")
    launch_url: str | None = None
    median_us: float | None = None
    interval_us: tuple[float, float] | None = None
    verified: bool = Field(
        default=False,
        description="whether it matched the reference at every size; false: there is no reference",
    )
    lead: Lead | None = Field(default=None, description="null: no other variant could have won")
    note: str | None = Field(
        default=None, description="why there is no winner, or none that is clearly the fastest"
    )


@dataclass(frozen=True, slots=True)
class Contender:
    """A variant that was timed: its launches in the rounds, and those side by side, by pass.

    `objection` is why it may not win for what happened elsewhere: at another size, for one.
    """

    candidate: Candidate
    rounds: Sequence[Measurement]
    passes: Mapping[int, Measurement]
    objection: str | None = None

    @property
    def obstacle(self) -> str | None:
        """Why it may not win, None where it may."""
        if self.objection is not None:
            return self.objection
        every = [*self.rounds, *self.passes.values()]
        if time_finding := next((one.time_finding for one in every if one.time_finding), None):
            return f"its times cannot be those of its work ({time_finding})"
        noisy = [time.noisy for time in self.times]
        if 2 * sum(noisy) > len(noisy):
            return "its times are noisy"
        return None

    @property
    def times(self) -> list[MeasuredTime]:
        """The times that count: side by side if there are any, else the last."""
        measured = [one.time for one in self.passes.values() if one.time is not None]
        return measured or [one.time for one in self.rounds if one.time is not None][-1:]


def middle_launch(rounds: Sequence[Measurement], passes: Mapping[int, Measurement]) -> Measurement:
    """Return the launch in the middle of those that count, whose numbers stand for all.

    At least one of them has a time.
    """
    counted = [(one.time.median_us, one) for one in passes.values() if one.time is not None]
    if not counted:
        return next(one for one in reversed(rounds) if one.time is not None)
    counted.sort(key=lambda pair: pair[0])
    return counted[(len(counted) - 1) // 2][1]


def winner_of(
    size: ProblemSize, contenders: Sequence[Contender], *, is_verified: bool, why_none: str
) -> Winner:
    """Return the winner among variants that have times; `why_none` says why there are none."""
    may_win = [one for one in contenders if one.obstacle is None]
    if not may_win:
        note = _none_may_win(contenders) if contenders else why_none
        return Winner(problem_size=size.arguments, target=size.target, variant=None, note=note)
    passes = _common_passes(may_win)
    order = sorted(may_win, key=lambda one: (_score(one, passes), one.candidate.index))
    best, others = order[0], order[1:]
    lead = _lead(best, others[0], passes) if others else None
    barred = [one for one in contenders if one.obstacle is not None]
    unverified = [] if is_verified else ["without a reference nothing says that it is right"]
    launch = middle_launch(best.rounds, best.passes)
    time = launch.time
    return Winner(
        problem_size=size.arguments,
        target=size.target,
        variant=best.candidate.index,
        values=dict(best.candidate.values),
        launch_id=launch.launch_id,
        launch_url=launch_url(launch.launch_id),
        median_us=time.median_us if time is not None else None,
        interval_us=(time.low_us, time.high_us) if time is not None else None,
        verified=is_verified,
        lead=lead,
        note="; ".join([*_notes(best, lead, barred, passes), *unverified]) or None,
    )


_MOST_LISTED = 3


def _common_passes(contenders: Sequence[Contender]) -> list[int]:
    """Return the passes in which all of them were timed."""
    timed = [
        {number for number, one in each.passes.items() if one.time is not None}
        for each in contenders
    ]
    return sorted(set.intersection(*timed))


def _medians(contender: Contender, passes: Sequence[int]) -> list[float]:
    found = (contender.passes[number].time for number in passes)
    return [time.median_us for time in found if time is not None]


def _last_time(contender: Contender) -> MeasuredTime:
    return next(one.time for one in reversed(contender.rounds) if one.time is not None)


def _score(contender: Contender, passes: Sequence[int]) -> float:
    """Return the median of its times, which leads also use: the leader is first."""
    if passes:
        return geometric_mean(_medians(contender, passes))
    return _last_time(contender).median_us


def _lead(best: Contender, second: Contender, passes: Sequence[int]) -> Lead:
    over = second.candidate.index
    if len(passes) > 1:
        return lead_in_turn(over, _medians(best, passes), _medians(second, passes))
    if passes:
        times = [one.passes[passes[0]].time or _last_time(one) for one in (best, second)]
        return lead_apart(over, *times)
    return lead_apart(over, _last_time(best), _last_time(second))


def _none_may_win(contenders: Sequence[Contender]) -> str:
    fastest = min(contenders, key=lambda one: one.times[0].median_us)
    return (
        f"none of the {len(contenders)} variants that were timed may win; variant "
        f"{fastest.candidate.index} was the fastest: {fastest.obstacle}"
    )


def _notes(
    best: Contender, lead: Lead | None, barred: Sequence[Contender], passes: Sequence[int]
) -> list[str]:
    score = _score(best, passes)
    faster = [one for one in barred if min(time.median_us for time in one.times) < score]
    notes = [
        f"variant {one.candidate.index} was faster, and may not win: {one.obstacle}"
        for one in faster[:_MOST_LISTED]
    ]
    if lead is not None and not lead.clear:
        notes.append(
            f"no clear lead: variant {lead.over} may be as fast, as the lead of {lead.percent:g} % "
            f"is somewhere from {lead.interval_percent[0]:g} to {lead.interval_percent[1]:g} %"
        )
    return notes
