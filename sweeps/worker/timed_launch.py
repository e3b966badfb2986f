"""The launches by which a search times a variant: the variant's own, but for id and timing."""

import hashlib
from typing import Any

from compiler.compilation import amended
from launch.request.launch_job import LaunchJob
from launch.request.launch_request import MAX_DEADLINE_S, TimingRequest
from sweeps.search.candidate import TimedRun
from sweeps.search.size_search import FINAL

EXAMINED_STAGE = f"{FINAL} 1"
"""Checks and profiles are runs of their own: they are made once, of the finalists."""
_NOT_EXAMINED: dict[str, Any] = {"checks": [], "fuzz": None, "profile": False}


def timed_launch(sweep_id: str, job: LaunchJob, run: TimedRun) -> LaunchJob:
    """Return the launch that `run` is. A driver that takes over comes to the same one."""
    text = f"{sweep_id}/{run.index}/{run.stage}"
    return amended(
        job,
        id=hashlib.sha256(text.encode()).hexdigest()[:32],
        returned={},
        trace=None,
        timing=_timing(job.timing or TimingRequest(), run),
        priority="batch",
        # it waits for others of its search, which count against no deadline of its own
        deadline_s=MAX_DEADLINE_S,
        **({} if run.stage == EXAMINED_STAGE else _NOT_EXAMINED),
    )


def _timing(asked: TimingRequest, run: TimedRun) -> TimingRequest:
    """Return how a run is timed: what the base says of inputs, caches and bytes holds."""
    return amended(
        asked,
        min_repeats=run.repeats,
        max_repeats=run.repeats,
        max_ms=run.max_ms,
        samples=False,
    )
