"""The winner of one problem size, or why there is none. Pure.

Only a variant may win that was right whenever it ran, at every size, and whose times are reliable.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from compiler.compilation import Record
from launch.request.launch_record import launch_url
from sweeps.search.candidate import Candidate, ProblemSize
from sweeps.search.measurement import MeasuredTime, Measurement

_STUDENT_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
              2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093)  # fmt: skip
"""Two-sided, at 95 %, for 1 to 19 degrees of freedom: two to twenty passes."""


class Lead(Record):
    """The extra time of the second relative to the winner."""

    over: int = Field(description="the index of the second fastest variant that may win")
    percent: float
    interval_percent: tuple[float, float] = Field(
        description="at 95 %: by the passes that both were timed in, or by their two intervals"
    )
    clear: bool = Field(
        description="false: the interval reaches 0, so the second may be as fast as the winner"
    )
    passes: int = Field(
        description="in which both were timed in turn; 0: they were timed on their own only"
    )


_SHORTEST_US = 1e-3  # what answers show of a time ends there, and a time of zero has no ratio


_MAX_LOG = 20.0


class Winner(Record):
    """The fastest variant of a problem size; `variant` is null where there is none."""

    problem_size: str | None = Field(description="the label of its arguments; null: all have one")
    target: str
    variant: int | None = Field(description="the index of its row")
    values: dict[str, Any] = Field(default_factory=dict, description="by axis")
    compilation_key: str | None = None
    launch_id: str | None = Field(default=None, description="the launch that measured the time")
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
        if time_finding := next(
            (measurement.time_finding for measurement in every if measurement.time_finding), None
        ):
            return f"its times cannot be those of its work ({time_finding})"
        noisy = [time.noisy for time in self.times]
        if 2 * sum(noisy) > len(noisy):
            return "its times are noisy"
        return None

    @property
    def times(self) -> list[MeasuredTime]:
        """The times that count: side by side if there are any, else the last."""
        measured = [
            measurement.time for measurement in self.passes.values() if measurement.time is not None
        ]
        return (
            measured
            or [measurement.time for measurement in self.rounds if measurement.time is not None][
                -1:
            ]
        )


def middle_launch(rounds: Sequence[Measurement], passes: Mapping[int, Measurement]) -> Measurement:
    """Return the launch in the middle of those that count, whose numbers stand for all.

    At least one of them has a time.
    """
    counted = [
        (measurement.time.median_us, measurement)
        for measurement in passes.values()
        if measurement.time is not None
    ]
    if not counted:
        return next(measurement for measurement in reversed(rounds) if measurement.time is not None)
    counted.sort(key=lambda pair: pair[0])
    return counted[(len(counted) - 1) // 2][1]


def winner_of(
    size: ProblemSize, contenders: Sequence[Contender], *, is_verified: bool, why_none: str
) -> Winner:
    """Return the winner among variants that have times; `why_none` is why there are none."""
    may_win = [contender for contender in contenders if contender.obstacle is None]
    if not may_win:
        note = _none_may_win(contenders) if contenders else why_none
        return Winner(problem_size=size.arguments, target=size.target, variant=None, note=note)
    passes = _common_passes(may_win)
    order = sorted(
        may_win, key=lambda contender: (_score(contender, passes), contender.candidate.index)
    )
    best, others = order[0], order[1:]
    lead = _lead(best, others[0], passes) if others else None
    barred = [contender for contender in contenders if contender.obstacle is not None]
    unverified = [] if is_verified else ["without a reference nothing shows that it is right"]
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


_MAX_LISTED = 3


def _common_passes(contenders: Sequence[Contender]) -> list[int]:
    """Return the passes in which all of them were timed."""
    timed = [
        {number for number, measurement in each.passes.items() if measurement.time is not None}
        for each in contenders
    ]
    return sorted(set.intersection(*timed))


def _medians(contender: Contender, passes: Sequence[int]) -> list[float]:
    times = (contender.passes[number].time for number in passes)
    return [time.median_us for time in times if time is not None]


def _last_time(contender: Contender) -> MeasuredTime:
    return next(
        measurement.time
        for measurement in reversed(contender.rounds)
        if measurement.time is not None
    )


def _score(contender: Contender, passes: Sequence[int]) -> float:
    """Return the median of its times, which leads also use: the leader is first."""
    if passes:
        return math.exp(statistics.fmean(_log(median) for median in _medians(contender, passes)))
    return _last_time(contender).median_us


def _lead(best: Contender, second: Contender, passes: Sequence[int]) -> Lead:
    over = second.candidate.index
    if len(passes) > 1:
        return _lead_in_turn(over, _medians(best, passes), _medians(second, passes))
    if passes:
        times = [
            contender.passes[passes[0]].time or _last_time(contender)
            for contender in (best, second)
        ]
        return _lead_apart(over, *times)
    return _lead_apart(over, _last_time(best), _last_time(second))


def _none_may_win(contenders: Sequence[Contender]) -> str:
    fastest = min(contenders, key=lambda contender: contender.times[0].median_us)
    return (
        f"none of the {len(contenders)} variants that were timed may win; variant "
        f"{fastest.candidate.index} was the fastest: {fastest.obstacle}"
    )


def _notes(
    best: Contender, lead: Lead | None, barred: Sequence[Contender], passes: Sequence[int]
) -> list[str]:
    score = _score(best, passes)
    faster = [
        contender for contender in barred if min(time.median_us for time in contender.times) < score
    ]
    notes = [
        f"variant {contender.candidate.index} was faster, and may not win: {contender.obstacle}"
        for contender in faster[:_MAX_LISTED]
    ]
    if lead is not None and not lead.clear:
        notes.append(
            f"no clear lead: variant {lead.over} may be as fast, as the lead of {lead.percent:g} % "
            f"is somewhere from {lead.interval_percent[0]:g} to {lead.interval_percent[1]:g} %"
        )
    return notes


# The lead of one variant over another, from times taken in turn.
#
# A GPU's clock and heat change while a search goes on, so that times of different minutes compare
# two clocks. In each pass all finalists are timed one after the other: what changes slowly meets
# them alike, and the ratio of two within one pass is theirs alone.


def _lead_in_turn(over: int, winner: Sequence[float], second: Sequence[float]) -> Lead:
    """Return the lead by the medians of the same passes, two or more."""
    ratios = [_log(b) - _log(a) for a, b in zip(winner, second, strict=True)]
    count = len(ratios)
    mean = statistics.fmean(ratios)
    error = _STUDENT_T[count - 2] * statistics.stdev(ratios) / math.sqrt(count)
    return _lead_of_pair(over, mean, (mean - error, mean + error), count)


def _lead_apart(over: int, winner: MeasuredTime, second: MeasuredTime) -> Lead:
    """Return the lead by two times that were not taken in turn: by both intervals' ends."""
    low = _log(second.low_us) - _log(winner.high_us)
    high = _log(second.high_us) - _log(winner.low_us)
    return _lead_of_pair(over, _log(second.median_us) - _log(winner.median_us), (low, high), 0)


def _log(time_us: float) -> float:
    return math.log(max(time_us, _SHORTEST_US))


def _lead_of_pair(over: int, ratio_log: float, ends: tuple[float, float], passes: int) -> Lead:
    low, high = (_percent(end) for end in ends)
    return Lead(
        over=over,
        percent=_percent(ratio_log),
        interval_percent=(low, high),
        clear=low > 0,
        passes=passes,
    )


def _percent(log_ratio: float) -> float:
    return round(100 * math.expm1(max(-_MAX_LOG, min(_MAX_LOG, log_ratio))), 2)
