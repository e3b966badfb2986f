"""KernelGYM's batches: posts the tasks in turn and waits for all of them."""

import time
from dataclasses import dataclass
from typing import Any

from fastapi import Request

from adapters.evaluators.inner_programs import awaited
from adapters.evaluators.kernelgym_result import (
    KernelGymBatchResult,
    KernelGymResult,
    now,
    result_of,
)
from adapters.evaluators.kernelgym_task import MAX_ID_CHARS, KernelGymBatch, KernelGymTask
from adapters.evaluators.kernelgym_tasks import KeptTask, submit_task
from service.http.answer_parts import AnswerRoom
from service.http.body import parse_value
from service.http.problems import ProblemRaised, as_raised

_LIVING = frozenset({"pending", "processing"})


async def evaluate_batch(
    request: Request, caller_id: str, batch: KernelGymBatch
) -> KernelGymBatchResult:
    """Return the results of all tasks; clients must poll those that take too long.

    A refused task counts as failed, and does not affect the others.
    """
    submitted_at = now()
    posted = [await _submit(request, caller_id, task) for task in batch.tasks]
    timeouts = [outcome.timeout_s for outcome in posted if isinstance(outcome, _Submitted)]
    deadline = time.monotonic() + max(timeouts, default=0)
    room = AnswerRoom()
    results = [fitting(await _result(request, each, deadline), room) for each in posted]
    completed = sum(result.status == "completed" for result in results)
    living = sum(result.status in _LIVING for result in results)
    return KernelGymBatchResult(
        batch_id=batch.batch_id,
        total_tasks=len(results),
        completed_tasks=completed,
        failed_tasks=len(results) - completed - living,
        results=results,
        batch_status="processing" if living else "completed",
        submitted_at=submitted_at,
    )


@dataclass(frozen=True, slots=True)
class _Submitted:
    kept: KeptTask
    timeout_s: int


async def _submit(request: Request, caller_id: str, posted: Any) -> _Submitted | KernelGymResult:
    try:
        task = parse_value(posted, KernelGymTask)
        return _Submitted(await submit_task(request, caller_id, task), task.timeout)
    except Exception as error:
        raised = as_raised(error)
        if raised is None:
            raise
        return _refused(_task_id(posted), raised)


async def _result(
    request: Request, outcome: _Submitted | KernelGymResult, deadline: float
) -> KernelGymResult:
    if isinstance(outcome, KernelGymResult):
        return outcome
    kept, left_s = outcome.kept, max(0.0, deadline - time.monotonic())
    try:
        program = await awaited(request, kept.url, left_s)
    except ProblemRaised as gone:
        return _refused(kept.task_id, gone)
    return result_of(kept.task_id, program, kept.not_applied, kept.submitted_at)


def fitting(result: KernelGymResult, room: AnswerRoom) -> KernelGymResult:
    """Return a result without its texts if the answer has no room left for them."""
    if room.take(len(result.model_dump_json())):
        return result
    where = f"this batch has no room for more; GET /results/{result.task_id} has it"
    return result.model_copy(update={"metadata": None, "error_message": where})


def _refused(task_id: str, raised: ProblemRaised) -> KernelGymResult:
    """Return the result of a task that cannot be evaluated."""
    return KernelGymResult(
        task_id=task_id,
        status="failed",
        error_message=str(raised),
        error_code="VALIDATION_ERROR" if raised.fault == "request" else "SYSTEM_ERROR",
        completed_at=now(),
    )


def _task_id(posted: Any) -> str:
    """Return the name that a task may have, though it was not read."""
    name = posted.get("task_id") if isinstance(posted, dict) else None
    return name[:MAX_ID_CHARS] if isinstance(name, str) else ""
