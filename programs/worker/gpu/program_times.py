"""A program's times on a GPU: of a call, of each op, and its speedup over the reference. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from programs.program_record import MAX_ENTRIES, EntryTime, ProgramTiming
from programs.tape.schema import AtenOp, Op, Tape, TapeLaunch
from worker.gpu.launcher.fault import JobFailed

_SUM_RATIO, _SUM_US = 0.05, 2.0
"""A call's time and the sum of its ops' times may differ by the larger of both."""
_MAX_NOTE_CHARS = 2000
_MIN_RATIO = 0.1
"""Lower bound of an interval's end, as a ratio of the median: below 1 us, intervals reach 0."""


@dataclass(frozen=True, slots=True)
class ProgramTimes:
    """The times of one program on one GPU."""

    timing: ProgramTiming
    entries: Sequence[EntryTime] = ()
    """The longest first, up to a limit."""
    coverage: float | None = None
    """The share of the program's kernels in all ops' time; None if ops were not timed."""
    warnings: Sequence[str] = ()
    entries_us: float = 0.0
    """The sum of all ops' times."""
    kernels_us: float = 0.0
    """The sum of the times of the program's kernels."""


@dataclass(frozen=True, slots=True)
class Speedup:
    """The reference's median time divided by the candidate's."""

    ratio: float
    interval: tuple[float, float]
    """The 95 % interval: the ratio of another pair of runs is within it in 19 of 20 cases."""
    warnings: Sequence[str] = ()


def times_of(tape: Tape, result: Mapping[str, Any]) -> ProgramTimes | None:
    """Return the times in a launcher's last frame; None if it timed nothing.

    Raises JobFailed for fields that `program_timing` never sends.
    """
    timing = result.get("timing")
    if timing is None:
        return None
    try:
        read = ProgramTiming.model_validate({**timing, "method": result.get("method")})
        entries = _entries(tape, result)
    except (ValidationError, LookupError, TypeError, ValueError, OverflowError) as error:
        message = f"the times of a program cannot be read: {error!r}"
        raise JobFailed("malformed_job", message[:500]) from error
    note = note_of(result)
    warnings = [note] if note else []
    total_us = sum(entry.us for entry in entries)
    kernels_us = sum(entry.us for entry in entries if entry.is_kernel)
    if entries and abs(total_us - read.median_us) > max(_SUM_US, _SUM_RATIO * read.median_us):
        warnings.append(
            f"The ops' times add up to {total_us:.1f} us, but the whole call takes "
            f"{read.median_us:.1f} us, so shares and coverage are rough."
        )
    longest = sorted(entries, key=lambda entry: -entry.us)[:MAX_ENTRIES]
    coverage = kernels_us / total_us if total_us > 0 else None
    return ProgramTimes(read, longest, coverage, warnings, total_us, kernels_us)


def note_of(result: Mapping[str, Any]) -> str:
    """Return the note in a launcher's last frame on its times, or on why there are none."""
    return str(result.get("timing_note") or "")[:_MAX_NOTE_CHARS]


def speedup_of(candidate: ProgramTimes, reference: ProgramTimes) -> Speedup | None:
    """Return the ratio of both medians; None if one is not positive.

    Both intervals are of independent runs, so their widths, as logarithms, add in squares.
    """
    fast, slow = candidate.timing, reference.timing
    if fast.median_us <= 0 or slow.median_us <= 0:
        return None
    ratio = slow.median_us / fast.median_us
    low = math.exp(-math.hypot(_below(slow), _above(fast)))
    high = math.exp(math.hypot(_above(slow), _below(fast)))
    return Speedup(ratio, (ratio * low, ratio * high), _warnings(fast, slow))


def _below(timing: ProgramTiming) -> float:
    """Return the logarithm of the median divided by the lower end of its interval."""
    low = timing.interval_us[0] if timing.interval_us else timing.min_us
    return math.log(timing.median_us / max(low, _MIN_RATIO * timing.median_us))


def _above(timing: ProgramTiming) -> float:
    high = timing.interval_us[1] if timing.interval_us else timing.p80_us
    return math.log(max(high, timing.median_us) / timing.median_us)


def _warnings(fast: ProgramTiming, slow: ProgramTiming) -> list[str]:
    warnings = []
    if fast.method != slow.method:
        warnings.append(
            f"The program was timed as a {_RUN_AS[fast.method]}, its reference as a "
            f"{_RUN_AS[slow.method]}: the speedup contains the host's time of one of them."
        )
    noisy = [name for name, timing in (("program", fast), ("reference", slow)) if timing.noisy]
    if noisy:
        which = " and the ".join(noisy)
        warnings.append(f"The times of the {which} are noisy: see speedup_interval.")
    return warnings


_RUN_AS = {"graph": "CUDA graph", "events": "call op by op", None: "call of another kind"}


def _entries(tape: Tape, result: Mapping[str, Any]) -> list[EntryTime]:
    entries = result.get("entries") or []
    if len({int(entry["op"]) for entry in entries}) < len(entries):
        raise ValueError("an op has more than one time")
    total_us = sum(float(entry["us"]) for entry in entries)
    chosen = {int(index): int(number) for index, number in (result.get("variants") or {}).items()}
    return [_entry(tape, entry, total_us, chosen) for entry in entries]


def _entry(
    tape: Tape, reported: Mapping[str, Any], total_us: float, chosen: Mapping[int, int]
) -> EntryTime:
    index, us = int(reported["op"]), float(reported["us"])
    if index < 0 or not (math.isfinite(us) and us >= 0):
        raise ValueError(f"op {index} took {us} us")
    op = tape.ops[index]
    return EntryTime(
        op=index,
        name=_name(tape, op),
        file=op.place.file if op.place else None,
        line=op.place.line if op.place else None,
        us=round(us, 3),
        share=us / total_us if total_us else 0.0,
        is_kernel=isinstance(op, TapeLaunch),
        configuration=chosen.get(index) if isinstance(op, TapeLaunch) and op.variants else None,
    )


def _name(tape: Tape, op: Op) -> str:
    if isinstance(op, TapeLaunch):
        return tape.kernels[op.kernel].name
    return op.op if isinstance(op, AtenOp) else "seed"
