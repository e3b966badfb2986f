"""KernelGYM's API: post, poll and fetch tasks. See docs/how-to/evaluators.md."""

from fastapi import APIRouter, Request

from adapters.evaluators.evaluator_health import EvaluatorHealth, health_of
from adapters.evaluators.inner_programs import awaited
from adapters.evaluators.kernelgym_batch import evaluate_batch
from adapters.evaluators.kernelgym_result import (
    KernelGymBatchResult,
    KernelGymResult,
    KernelGymStatus,
    result_of,
    status_answer,
)
from adapters.evaluators.kernelgym_task import EXAMPLE, KernelGymBatch, KernelGymTask
from adapters.evaluators.kernelgym_tasks import find_task, submit_task
from adapters.evaluators.program_words import FINISHED
from service.adapter_host import host_of
from service.http.body import parse_body, read_body
from service.http.inner_request import ask_itself
from service.http.openapi import body_of
from service.http.problems import ProblemRaised

PREFIX = "/kernelgym"
router = APIRouter(prefix=PREFIX, tags=["evaluators"])
tasks = APIRouter(tags=["evaluators"])
"""Routes whose paths no other evaluator uses; they are also at the root."""


@router.post(
    "/evaluate",
    summary="Evaluate a KernelGYM task",
    response_model=KernelGymResult,
    openapi_extra={"requestBody": body_of(KernelGymTask, {"add one": EXAMPLE})},
)
async def post_evaluate(request: Request) -> KernelGymResult:
    """Answer the result, or a task to poll if it takes longer than the task's `timeout`."""
    caller_id = await _caller_id(request)
    body = await read_body(request, host_of(request).max_body_bytes)
    return await evaluate_task(request, caller_id, parse_body(body, KernelGymTask))


async def evaluate_task(request: Request, caller_id: str, task: KernelGymTask) -> KernelGymResult:
    """Return the result of `task`. Raises ProblemRaised and RequestRejected."""
    kept = await submit_task(request, caller_id, task)
    program = await awaited(request, kept.url, task.timeout)
    return result_of(kept.task_id, program, kept.not_applied, kept.submitted_at)


@tasks.post(
    "/evaluate/batch",
    summary="Evaluate several KernelGYM tasks",
    response_model=KernelGymBatchResult,
    openapi_extra={
        "requestBody": body_of(KernelGymBatch, {"one": {"batch_id": "b1", "tasks": [EXAMPLE]}})
    },
)
async def post_batch(request: Request) -> KernelGymBatchResult:
    """Answer all results. A refused task counts as failed."""
    caller_id = await _caller_id(request)
    body = await read_body(request, host_of(request).max_batch_bytes)
    return await evaluate_batch(request, caller_id, parse_body(body, KernelGymBatch))


@tasks.get("/status/{task_id}", summary="Get the status of a KernelGYM task")
async def get_status(request: Request, task_id: str) -> KernelGymStatus:
    """Answer immediately."""
    kept = await find_task(request, await _caller_id(request), task_id)
    return status_answer(task_id, await awaited(request, kept.url, 0))


@tasks.get("/results/{task_id}", summary="Get the result of a KernelGYM task")
async def get_results(request: Request, task_id: str) -> KernelGymResult:
    """Answer 404 until the task is over."""
    kept = await find_task(request, await _caller_id(request), task_id)
    program = await awaited(request, kept.url, 0)
    if program["state"] not in FINISHED:
        detail = f"Task {task_id[:100]!r} has no result yet; poll GET /status/{{task_id}}"
        raise ProblemRaised("not_found", detail)
    return result_of(task_id, program, kept.not_applied, kept.submitted_at)


@tasks.delete("/tasks/{task_id}", summary="Cancel a KernelGYM task")
async def delete_task(request: Request, task_id: str) -> dict[str, str]:
    """Answer 404 for a finished task, as KernelGYM does."""
    kept = await find_task(request, await _caller_id(request), task_id)
    answer = await ask_itself(request, "DELETE", kept.url)
    if answer.is_problem or answer.json["state"] in FINISHED - {"cancelled"}:
        raise ProblemRaised("not_found", f"Task {task_id[:100]!r} is over")
    return {"message": f"Task {task_id} cancelled successfully"}


@router.get("/health", summary="Check that the service can evaluate KernelGYM tasks")
async def get_health(request: Request) -> EvaluatorHealth:
    """Answer `healthy` if a worker evaluates programs, else `unhealthy`."""
    return await health_of(request)


async def _caller_id(request: Request) -> str:
    return (await host_of(request).identify(request, "launch")).id
