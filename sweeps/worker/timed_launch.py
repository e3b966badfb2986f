"""The launches by which a search times a variant: the variant's own, but for id and timing."""

import hashlib
from typing import Any

from compiler.compilation import amended
from launch.request.launch_job import LaunchJob
from launch.request.launch_request import MAX_DEADLINE_S
from sweeps.search.candidate import TimedRun
from sweeps.search.size_search import FINAL

EXAMINED_STAGE = f"{FINAL} 1"
"""Checks and profiles are runs of their own: they are made once, of the finalists."""
_EXAMINATIONS = ("checks", "fuzz", "profile")
_NOT_ANSWERED = ("return", "trace")


def timed_launch(sweep_id: str, job: LaunchJob, run: TimedRun) -> LaunchJob:
    """Return the launch that `run` is. A driver that takes over comes to the same one."""
    text = f"{sweep_id}/{run.index}/{run.stage}"
    request = {name: value for name, value in job.request.items() if name not in _NOT_ANSWERED}
    if run.stage != EXAMINED_STAGE:
        request = {name: value for name, value in request.items() if name not in _EXAMINATIONS}
    # it waits for others of its search, which count against no deadline of its own
    request |= {"timing": _timing(request.get("timing"), run), "priority": "batch"}
    request["deadline_s"] = MAX_DEADLINE_S
    launch_id = hashlib.sha256(text.encode()).hexdigest()[:32]
    return amended(job, id=launch_id, request=request)


def _timing(asked: Any, run: TimedRun) -> dict[str, Any]:
    """Return how a run is timed: what the base says of inputs, caches and bytes holds."""
    return dict(asked or {}) | {
        "min_repeats": run.repeats,
        "max_repeats": run.repeats,
        "max_ms": run.max_ms,
        "samples": False,
    }
