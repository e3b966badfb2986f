"""The report of ncu on one launch, as the few numbers that decide what to do next. Pure: text in.

A metric that a GPU or a version of ncu does not know is left out of its table, and null here.
"""

import csv
import math
from typing import Any

_NUMBERS = {
    "duration_us": ("gpu__time_duration.sum", 1e-3),
    "sm_throughput_percent": ("sm__throughput.avg.pct_of_peak_sustained_elapsed", 1),
    "dram_throughput_percent": ("dram__throughput.avg.pct_of_peak_sustained_elapsed", 1),
    "dram_read_bytes": ("dram__bytes_read.sum", 1),
    "dram_write_bytes": ("dram__bytes_write.sum", 1),
    "l1_hit_percent": ("l1tex__t_sector_hit_rate.pct", 1),
    "l2_hit_percent": ("lts__t_sector_hit_rate.pct", 1),
    "achieved_occupancy_percent": ("sm__warps_active.avg.pct_of_peak_sustained_active", 1),
    "theoretical_occupancy_percent": ("sm__maximum_warps_per_active_cycle_pct", 1),
    "tensor_pipe_percent": ("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", 1),
    "registers": ("launch__registers_per_thread", 1),
    "waves_per_sm": ("launch__waves_per_multiprocessor", 1),
}
_REASONS = (
    "barrier", "branch_resolving", "dispatch_stall", "drain", "gmma", "imc_miss", "lg_throttle",
    "long_scoreboard", "math_pipe_throttle", "membar", "mio_throttle", "misc", "no_instruction",
    "short_scoreboard", "sleeping", "tex_throttle", "wait",
)  # fmt: skip
_STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
_WHOLE = frozenset({"dram_read_bytes", "dram_write_bytes", "registers"})
_MAX_STALLS = 3

METRICS = ",".join(
    [*(name for name, _ in _NUMBERS.values()), *(_STALL.format(reason) for reason in _REASONS)]
)
"""The metrics to request from ncu."""


class NoProfile(Exception):
    """The report has no table of a kernel; the message is what ncu printed instead."""


def read(text: str) -> dict[str, Any]:
    """Return `profile` of a launch: numbers, null where ncu has none, and the worst stalls.

    `stalls` are warps waiting per issued instruction, by reason. Raises NoProfile.
    """
    rows = list(csv.reader(line for line in text.splitlines() if line.startswith('"')))
    if len(rows) < 3:  # names, units, and one row for the kernel
        raise NoProfile(complaint(text))
    values = dict(zip(rows[0], rows[2], strict=False))
    profile: dict[str, Any] = {
        field: _scaled(values.get(name), factor, whole=field in _WHOLE)
        for field, (name, factor) in _NUMBERS.items()
    }
    stalls = {reason: _number(values.get(_STALL.format(reason))) for reason in _REASONS}
    known = sorted(
        ((value, reason) for reason, value in stalls.items() if value), key=lambda pair: -pair[0]
    )
    profile["stalls"] = {reason: round(value, 2) for value, reason in known[:_MAX_STALLS]}
    return profile


def complaint(text: str) -> str:
    """Return why there is no table, in ncu's words."""
    lines = [line for line in text.splitlines() if line.startswith(("==ERROR==", "==WARNING=="))]
    if "ERR_NVGPUCTRPERM" in text:
        return (
            "the driver lets administrators alone read performance counters: load the nvidia "
            "module with NVreg_RestrictProfilingToAdminUsers=0"
        )
    if "driver resource was unavailable" in text:
        return (
            "another program reads this GPU's performance counters, and only one can at a time: "
            "stop it (DCGM, another ncu), or ask for the profile later"
        )
    return (lines or ["ncu profiled no kernel"])[-1].partition("== ")[2] or "ncu printed nothing"


def _scaled(text: str | None, factor: float, *, whole: bool) -> float | int | None:
    number = _number(text)
    if number is None:
        return None
    return round(number * factor) if whole else round(number * factor, 3)


def _number(text: str | None) -> float | None:
    try:
        number = float((text or "").replace(",", ""))
    except ValueError:
        return None
    return number if math.isfinite(number) else None
