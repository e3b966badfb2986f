"""The result of a program in KernelGYM's shape, for `/evaluate` and `/results`."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from pydantic import BaseModel, Field

from adapters.evaluators.program_words import (
    FailedPart,
    cause_of,
    device_of,
    findings_text,
    times_of,
)

TaskStatus = Literal["pending", "processing", "completed", "failed", "timeout", "cancelled"]
DECOYS = frozenset({"no_kernel", "dead_launch"})
"""Flags of programs whose outputs do not come from Triton kernels."""
_SERIOUS_DECOYS = frozenset({"torch_did_the_work", "cached_result", "state_kept"})
"""Further ones, where the operator lets them make a program incorrect."""
_ERROR_CODES = {
    FailedPart.SOURCE: "COMPILATION_ERROR",
    FailedPart.RUN: "RUNTIME_ERROR",
    FailedPart.VALUES: "CORRECTNESS_ERROR",
    FailedPart.TIME: "TIMEOUT_ERROR",
    FailedPart.ELSEWHERE: "SYSTEM_ERROR",
}
_STATUSES: dict[str, TaskStatus] = {
    "queued": "pending",
    "running": "processing",
    "completed": "completed",
    "cancelled": "cancelled",
}


class KernelGymResult(BaseModel):
    """The answer of `/evaluate` and `/results/{task_id}`; unknown members are null."""

    task_id: str
    status: TaskStatus
    compiled: bool | None = None
    correctness: bool | None = None
    decoy_kernel: bool | None = Field(
        default=None, description="no Triton kernel computes the outputs"
    )
    reference_runtime: float | None = Field(
        default=None, description="milliseconds, median; null if nothing was timed"
    )
    kernel_runtime: float | None = Field(
        default=None, description="milliseconds, median; null if nothing was timed"
    )
    speedup: float | None = Field(default=None, description="null if nothing was timed")
    metadata: dict[str, Any] | None = None
    error_message: str | None = None
    error_code: str | None = None
    submitted_at: str | None = None
    completed_at: str | None = None
    processing_time: float | None = Field(default=None, description="seconds, without the queue")


class KernelGymStatus(BaseModel):
    """The answer of `/status/{task_id}`."""

    task_id: str
    status: TaskStatus
    progress: float | None = None
    estimated_completion: str | None = None
    queue_position: int | None = None
    assigned_device: str | None = None
    error_message: str | None = None


class KernelGymBatchResult(BaseModel):
    """The answer of `/evaluate/batch`."""

    batch_id: str
    total_tasks: int
    completed_tasks: int
    failed_tasks: int
    results: list[KernelGymResult]
    batch_status: TaskStatus
    submitted_at: str | None = None


def now() -> str:
    """Return the time in KernelGYM's format."""
    return datetime.now(UTC).isoformat()


def status_of(program: Mapping[str, Any]) -> TaskStatus:
    """Return KernelGYM's status for `program`, an answer of /v1/programs.

    A wrong candidate is `completed`: its evaluation has a result. One whose reference failed has
    none.
    """
    is_unjudged = program["state"] == "completed" and program.get("reward") is None
    if program["state"] != "failed" and not is_unjudged:
        return _STATUSES[program["state"]]
    match cause_of(program):
        case FailedPart.SOURCE | FailedPart.RUN:
            return "completed"
        case FailedPart.TIME:
            return "timeout"
        case _:
            return "failed"


def result_of(
    task_id: str,
    program: Mapping[str, Any],
    not_applied: Mapping[str, str],
    submitted_at: str | None = None,
) -> KernelGymResult:
    """Return KernelGYM's answer for the present state of `program`."""
    status = status_of(program)
    if status in {"pending", "processing"}:
        return KernelGymResult(task_id=task_id, status=status, submitted_at=submitted_at)
    reward = program.get("reward") or {}
    cause, times = cause_of(program), times_of(program)
    return KernelGymResult(
        task_id=task_id,
        status=status,
        compiled=reward.get("compiled"),
        correctness=reward.get("correct"),
        decoy_kernel=_is_decoy(reward) if reward else None,
        reference_runtime=times.reference_ms if times is not None else None,
        kernel_runtime=times.program_ms if times is not None else None,
        speedup=times.speedup if times is not None else None,
        metadata=_metadata(program, not_applied),
        error_message=findings_text(program) if cause is not None else None,
        error_code=_ERROR_CODES[cause] if cause is not None else None,
        submitted_at=submitted_at,
        completed_at=_end(submitted_at, (program.get("timings_ms") or {}).get("total")),
        processing_time=_seconds((program.get("timings_ms") or {}).get("run")),
    )


def status_answer(task_id: str, program: Mapping[str, Any]) -> KernelGymStatus:
    """Return the status of a task, with the reason if it has no result."""
    status = status_of(program)
    has_result = status in {"pending", "processing", "completed"}
    return KernelGymStatus(
        task_id=task_id,
        status=status,
        progress=100.0 if status == "completed" else None,
        queue_position=program.get("queue_position"),
        assigned_device=(device_of(program) or "cpu") if status == "processing" else None,
        error_message=None if has_result else findings_text(program),
    )


def _is_decoy(reward: Mapping[str, Any]) -> bool:
    """Return True if no kernel of this call computes the outputs."""
    return not (
        DECOYS.isdisjoint(reward.get("flags") or [])
        and _SERIOUS_DECOYS.isdisjoint(reward.get("serious") or [])
    )


def _end(submitted_at: str | None, total_ms: float | None) -> str:
    """Return the end of a task; the present where nothing measured how long it took."""
    if submitted_at is None or total_ms is None:
        return now()
    began = datetime.fromisoformat(submitted_at)
    return (began + timedelta(milliseconds=total_ms)).isoformat()


def _seconds(duration_ms: float | None) -> float | None:
    return None if duration_ms is None else round(duration_ms / 1000, 3)


def _metadata(program: Mapping[str, Any], not_applied: Mapping[str, str]) -> dict[str, Any]:
    return {
        "device": device_of(program) or "cpu",
        "program": program.get("url"),
        "verdict": program.get("verdict"),
        "coverage": (program.get("reward") or {}).get("coverage"),
        "flags": program.get("flags") or [],
        "kernels": [kernel["name"] for kernel in program.get("kernels") or []],
        "not_applied": dict(not_applied),
    }
