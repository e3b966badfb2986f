"""KernelGYM's API: post, poll and fetch tasks. See docs/how-to/evaluators.md.

A stored task is the caller's name for a program, and the fields of the posted task that were
ignored.
"""

import hashlib
import secrets
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import orjson
from fastapi import APIRouter, Request

from adapters.evaluators.evaluation_tasks import Evaluations
from adapters.evaluators.evaluator_health import EvaluatorHealth, health_of
from adapters.evaluators.inner_programs import awaited, is_there, posted
from adapters.evaluators.kernelgym_result import (
    KernelGymBatchResult,
    KernelGymResult,
    KernelGymStatus,
    now,
    result_of,
    status_answer,
)
from adapters.evaluators.kernelgym_task import (
    EXAMPLE,
    MAX_ID_CHARS,
    POINTERS,
    KernelGymBatch,
    KernelGymTask,
    not_applied,
    program_of,
    refuse_other_work,
)
from adapters.evaluators.program_words import FINISHED
from service.adapter_host import host_of
from service.http.answer_parts import AnswerRoom
from service.http.body import parse_body, parse_value, read_body
from service.http.inner_request import ask_itself
from service.http.openapi import body_of
from service.http.problems import ProblemRaised, as_raised
from store.stored import read_stored

KIND = "kernelgym"
PROGRAMS = "/v1/programs"


@dataclass(frozen=True, slots=True)
class KeptTask:
    """A posted task; `digest` is that of the program's body."""

    task_id: str
    url: str
    digest: str
    not_applied: Mapping[str, str]
    submitted_at: str


async def submit_task(request: Request, caller_id: str, task: KernelGymTask) -> KeptTask:
    """Post the program of `task`, unless the caller's task of this name already did.

    Raises ProblemRaised and RequestRejected.
    """
    on_gpu = any(runner.device is not None for runner in await host_of(request).program_runners())
    refuse_other_work(task, on_gpu=on_gpu)
    body = program_of(task, on_gpu=on_gpu)
    digest = hashlib.sha256(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)).hexdigest()
    kept = None if task.force_refresh else await _find(request, caller_id, task.task_id)
    if kept is not None and await is_there(request, kept.url):
        if kept.digest == digest:
            return kept
        detail = (
            f"task_id {task.task_id!r} was used for another program, {kept.url}; "
            "use a new one, or force_refresh"
        )
        raise ProblemRaised("invalid_request", detail, parameter="task_id")
    name = hashlib.sha256(f"{task.task_id}\0{digest}".encode()).hexdigest()
    # each candidate gets another seed, but posting it again keeps its seed
    drawn = secrets.token_hex(16) if task.force_refresh else ""
    seed = await host_of(request).store(Evaluations).seed(caller_id, KIND, name, drawn)
    body = {"seed": seed} | body
    key = None if task.force_refresh else f"{KIND}:{name}"
    program = await posted(request, PROGRAMS, body, POINTERS, idempotency_key=key)
    unused = not_applied(task, on_gpu=on_gpu)
    made = KeptTask(task.task_id, program["url"], digest, unused, now())
    data = orjson.dumps(asdict(made))
    await host_of(request).store(Evaluations).keep(caller_id, KIND, task.task_id, data)
    return made


async def find_task(request: Request, caller_id: str, task_id: str) -> KeptTask:
    """Return the caller's task. Raises ProblemRaised (404) if there is none."""
    kept = await _find(request, caller_id, task_id)
    if kept is None:
        raise ProblemRaised("not_found", f"You have no task {task_id[:100]!r}")
    return kept


async def _find(request: Request, caller_id: str, task_id: str) -> KeptTask | None:
    data = await host_of(request).store(Evaluations).find(caller_id, KIND, task_id)
    return None if data is None else read_stored(KeptTask, data)


PREFIX = "/kernelgym"
router = APIRouter(prefix=PREFIX, tags=["evaluators"])
tasks = APIRouter(tags=["evaluators"])
"""Routes whose paths no other evaluator uses; they are also at the root."""
_LIVING = frozenset({"pending", "processing"})


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
    return await _evaluate_batch(request, caller_id, parse_body(body, KernelGymBatch))


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


async def _evaluate_batch(
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
