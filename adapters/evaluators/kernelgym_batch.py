"""KernelGYM's batches: posts the tasks in turn and waits for all of them."""

import time

from fastapi import Request

from adapters.evaluators.inner_programs import awaited
from adapters.evaluators.kernelgym_result import (
    KernelGymBatchResult,
    KernelGymResult,
    now,
    result_of,
)
from adapters.evaluators.kernelgym_task import KernelGymBatch, KernelGymTask
from adapters.evaluators.kernelgym_tasks import KeptTask, submit_task
from service.http.problems import as_raised

_LIVING = frozenset({"pending", "processing"})


async def evaluate_batch(
    request: Request, caller_id: str, batch: KernelGymBatch
) -> KernelGymBatchResult:
    """Return the results of all tasks; clients must poll those that take too long.

    A refused task counts as failed, and does not affect the others.
    """
    submitted_at = now()
    posted = [await _submit(request, caller_id, task) for task in batch.tasks]
    deadline = time.monotonic() + max(task.timeout for task in batch.tasks)
    results = [await _result(request, outcome, deadline) for outcome in posted]
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


async def _submit(
    request: Request, caller_id: str, task: KernelGymTask
) -> KeptTask | KernelGymResult:
    try:
        return await submit_task(request, caller_id, task)
    except Exception as error:
        raised = as_raised(error)
        if raised is None:
            raise
        return KernelGymResult(
            task_id=task.task_id,
            status="failed",
            error_message=str(raised),
            error_code="VALIDATION_ERROR" if raised.slug == "invalid_request" else "SYSTEM_ERROR",
        )


async def _result(
    request: Request, outcome: KeptTask | KernelGymResult, deadline: float
) -> KernelGymResult:
    if isinstance(outcome, KernelGymResult):
        return outcome
    left_s = max(0.0, deadline - time.monotonic())
    program = await awaited(request, outcome.url, left_s)
    return result_of(outcome.task_id, program, outcome.not_applied, outcome.submitted_at)
