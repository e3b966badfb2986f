"""flashinfer-bench's API: definitions, solutions, tasks. See docs/how-to/evaluators.md."""

import time
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from adapters.evaluators.evaluator_health import EvaluatorHealth, health_of
from adapters.evaluators.flashinfer_solution import EXAMPLE, FlashInferTask
from adapters.evaluators.flashinfer_tasks import submit_solution, task_answer
from adapters.evaluators.flashinfer_trace import FlashInferTaskAnswer
from adapters.evaluators.flashinfer_trace_set import trace_set_of
from service.adapter_host import host_of
from service.http.answer_parts import AnswerRoom
from service.http.body import parse_body, read_body
from service.http.openapi import body_of
from service.http.problems import ProblemRaised

PREFIX = "/flashinfer-bench"
MAX_TIMEOUT_S = 3600
MAX_TASKS = 1000
router = APIRouter(prefix=PREFIX, tags=["evaluators"])
tasks = APIRouter(tags=["evaluators"])
"""Routes whose paths no other evaluator uses; they are also at the root."""


class FlashInferSubmitted(BaseModel):
    """The answer of `/evaluate`."""

    task_id: str
    normalized_solution_name: str


class FlashInferQuery(BaseModel):
    """The body of `/tasks/batch`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    task_ids: list[Annotated[str, Field(max_length=4096)]] = Field(max_length=MAX_TASKS)
    timeout: float = Field(default=0, le=MAX_TIMEOUT_S, allow_inf_nan=False)


@router.post(
    "/evaluate",
    summary="Evaluate a flashinfer-bench solution",
    response_model=FlashInferSubmitted,
    openapi_extra={"requestBody": body_of(FlashInferTask, {"a solution": EXAMPLE})},
)
async def post_evaluate(request: Request) -> FlashInferSubmitted:
    """Answer a task's id. The finished task has a trace for each workload."""
    caller_id = await _caller_id(request)
    body = await read_body(request, host_of(request).max_body_bytes)
    return await evaluate_solution(request, caller_id, parse_body(body, FlashInferTask))


async def evaluate_solution(
    request: Request, caller_id: str, task: FlashInferTask
) -> FlashInferSubmitted:
    """Return the id of `task`. Raises ProblemRaised and RequestRejected."""
    task_id = await submit_solution(request, caller_id, task)
    return FlashInferSubmitted(task_id=task_id, normalized_solution_name=task.solution.unique_name)


@tasks.post(
    "/tasks/batch",
    summary="Get several flashinfer-bench tasks",
    response_model=list[FlashInferTaskAnswer],
    openapi_extra={"requestBody": body_of(FlashInferQuery, {})},
)
async def post_tasks(request: Request) -> list[FlashInferTaskAnswer]:
    """Answer when all are over, or after `timeout`; 404 if one does not exist."""
    caller_id = await _caller_id(request)
    body = await read_body(request, host_of(request).max_body_bytes)
    query = parse_body(body, FlashInferQuery)
    if len(set(query.task_ids)) < len(query.task_ids):  # each answer may take megabytes
        detail = "task_ids: a task is listed twice; list each task once"
        raise ProblemRaised("invalid_request", detail, parameter="task_ids")
    deadline = time.monotonic() + query.timeout
    for task_id in query.task_ids:
        await task_answer(request, caller_id, task_id, 0)
    room, answers = AnswerRoom(), list[FlashInferTaskAnswer]()
    for task_id in query.task_ids:
        left_s = max(0.0, deadline - time.monotonic())
        answers.append(await task_answer(request, caller_id, task_id, left_s))
        if not room.take(len(answers[-1].model_dump_json())):
            detail = f"These tasks have more than {room.limit_bytes} bytes; ask for fewer at once"
            raise ProblemRaised("too_large", detail, limit=room.limit_bytes)
    return answers


@tasks.get("/tasks/{task_id}", summary="A flashinfer-bench task")
async def get_task(
    request: Request,
    task_id: str,
    timeout: Annotated[  # noqa: ASYNC109
        float, Query(ge=0, le=MAX_TIMEOUT_S, description="seconds to wait for its end")
    ] = 0,
) -> FlashInferTaskAnswer:
    """Answer 200 in every status. The task has traces once it is `completed`."""
    return await task_answer(request, await _caller_id(request), task_id, timeout)


@tasks.get("/definitions", summary="List the definitions of flashinfer-bench")
async def get_definitions(request: Request) -> list[dict[str, Any]]:
    """Answer names and descriptions; none if the operator configured no folder."""
    await _caller_id(request)
    definitions = trace_set_of(request).definitions.values()
    return [{"name": each.name, "description": each.description} for each in definitions]


@tasks.get("/definitions/{name}", summary="One definition")
async def get_definition(request: Request, name: str) -> dict[str, Any]:
    """Answer the content of its file."""
    await _caller_id(request)
    definition = trace_set_of(request).definitions.get(name)
    if definition is None:
        raise ProblemRaised("not_found", f"Definition not found: {name[:100]}")
    return definition.model_dump(mode="json", exclude_unset=True)


@tasks.get("/definitions/{name}/workloads", summary="The workloads of a definition")
async def get_workloads(request: Request, name: str) -> list[dict[str, Any]]:
    """Answer the content of their file."""
    await _caller_id(request)
    trace_set = trace_set_of(request)
    if name not in trace_set.definitions:
        raise ProblemRaised("not_found", f"Definition not found: {name[:100]}")
    workloads = trace_set.workloads.get(name, ())
    return [each.model_dump(mode="json", exclude_unset=True) for each in workloads]


@tasks.get("/workloads/{uuid}", summary="One workload")
async def get_workload(request: Request, uuid: str) -> dict[str, Any]:
    """Answer the content of its file."""
    await _caller_id(request)
    workload = trace_set_of(request).workload(uuid)
    if workload is None:
        raise ProblemRaised("not_found", f"Workload not found: {uuid[:100]}")
    return workload.model_dump(mode="json", exclude_unset=True)


@router.get("/health", summary="Check that the service can evaluate solutions")
async def get_health(request: Request) -> EvaluatorHealth:
    """Answer the kinds of workers that evaluate programs, and the number of queued programs."""
    return (await health_of(request)).model_copy(update={"status": "ok"})


async def _caller_id(request: Request) -> str:
    return (await host_of(request).identify(request, "launch")).id
