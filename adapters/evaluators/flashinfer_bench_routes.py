"""flashinfer-bench's API: definitions, solutions, tasks. See docs/how-to/evaluators.md.

A task is a batch of programs, one for each workload. A task without any workload to evaluate is
not stored; its id contains the reason.
"""

import base64
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from math import inf, isnan
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from adapters.evaluators.evaluation_tasks import Evaluations
from adapters.evaluators.evaluator_health import EvaluatorHealth, health_of
from adapters.evaluators.flashinfer_solution import (
    EXAMPLE,
    FlashInferTask,
    program_of,
    refuse_other_solutions,
    selected,
    why_not,
)
from adapters.evaluators.flashinfer_trace_set import TraceSet, Workload, trace_set_of
from adapters.evaluators.inner_programs import awaited, posted
from adapters.evaluators.program_words import (
    FailedPart,
    cause_of,
    device_of,
    findings_text,
    flag_lines,
    times_of,
)
from service.adapter_host import host_of
from service.http.answer_parts import AnswerRoom
from service.http.body import parse_body, read_body
from service.http.openapi import body_of
from service.http.problems import ProblemRaised
from store.stored import read_stored

NOT_TIMED = "nothing was timed: latencies and speed-up are unknown, and set to 0.0"
ON_THE_CPU = "tritond CPU device"
_STATUSES = {
    None: "PASSED",
    FailedPart.SOURCE: "COMPILE_ERROR",
    FailedPart.RUN: "RUNTIME_ERROR",
    FailedPart.VALUES: "INCORRECT_NUMERICAL",
    FailedPart.TIME: "TIMEOUT",
    FailedPart.ELSEWHERE: "RUNTIME_ERROR",
}
_OF_FINDINGS = {
    "wrong_shape": "INCORRECT_SHAPE",
    "wrong_structure": "INCORRECT_SHAPE",
    "wrong_dtype": "INCORRECT_DTYPE",
}
_UNTIMED = {"latency_ms": 0.0, "reference_latency_ms": 0.0, "speedup_factor": 0.0}


class FlashInferTaskAnswer(BaseModel):
    """The answer of `/tasks/{task_id}`, with one trace for each workload."""

    task_id: str
    status: str
    definition: str
    solution: str
    traces: list[dict[str, Any]] | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Traced:
    """The subject of a task's traces; `posted_at` is in ISO 8601."""

    definition: str
    solution: str
    posted_at: str

    def evaluated(self, workload: Workload, program: Mapping[str, Any]) -> dict[str, Any]:
        """Return the trace of `program`, a finished answer of /v1/programs."""
        status, performance = _trace_status(program), _performance(program)
        log = findings_text(program)
        if status == "PASSED":
            untimed = [] if performance is not None else [NOT_TIMED]
            log = "\n".join([*untimed, *flag_lines(program)])
        compared = status in {"PASSED", "INCORRECT_NUMERICAL"}
        return self._trace(
            workload,
            hardware=device_of(program) or ON_THE_CPU,
            status=status,
            log=log,
            correctness=_correctness(program) if compared else None,
            performance=(performance or _UNTIMED) if status == "PASSED" else None,
        )

    def left_out(self, workload: Workload, why: str) -> dict[str, Any]:
        """Return the trace of a workload that was not evaluated."""
        absent = {"correctness": None, "performance": None}
        return self._trace(workload, hardware="none", status="RUNTIME_ERROR", log=why, **absent)

    def _trace(self, workload: Workload, *, hardware: str, **evaluation: Any) -> dict[str, Any]:
        where = {"hardware": hardware, "libs": {}}
        return {
            "definition": self.definition,
            "workload": workload.model_dump(mode="json", exclude_unset=True),
            "solution": self.solution,
            "evaluation": {"environment": where, "timestamp": self.posted_at, **evaluation},
        }


def _trace_status(program: Mapping[str, Any]) -> str:
    status = _STATUSES[cause_of(program)]
    if status != "INCORRECT_NUMERICAL":
        return status
    kinds = [finding["kind"] for finding in program.get("findings") or []]
    return next((_OF_FINDINGS[kind] for kind in kinds if kind in _OF_FINDINGS), status)


def _performance(program: Mapping[str, Any]) -> dict[str, float] | None:
    """Return latencies in milliseconds, None if nothing was timed."""
    times = times_of(program)
    if times is None:
        return None
    return {
        "latency_ms": times.program_ms,
        "reference_latency_ms": times.reference_ms,
        "speedup_factor": times.speedup,
    }


def _correctness(program: Mapping[str, Any]) -> dict[str, Any]:
    compared = [
        output["comparison"]
        for output in (program.get("outputs") or {}).values()
        if output["comparison"] is not None
    ]
    return {
        "max_relative_error": _largest(item["max_rel_error"] for item in compared),
        "max_absolute_error": _largest(item["max_abs_error"] for item in compared),
        "extra": None,
    }


def _largest(errors: Any) -> float | str:
    """Return the largest value; non-finite ones are spelled as flashinfer-bench expects."""
    values = [float(error) for error in errors if error is not None]
    if any(isnan(value) for value in values):
        return "NaN"
    largest = max(values, default=0.0)
    return "Infinity" if largest == inf else largest


KIND = "flashinfer-bench"
BATCHES = "/v1/batches"
_FAILED = "failed-"
_MAX_ID_CHARS = 2048
_SAID = TypeAdapter(tuple[str, str, str])
"""The parts of a failed task's id: definition, solution, and reason."""
_POINTERS = {"/requests/0/source": "/solution/sources"}
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


@dataclass(frozen=True, slots=True)
class KeptSolution:
    """A posted solution: its batch has a program for each of `evaluated`."""

    definition: str
    solution: str
    url: str
    evaluated: Sequence[str]
    left_out: dict[str, str]
    """The reason for each workload that was not evaluated, by uuid."""
    posted_at: str

    @property
    def traced(self) -> Traced:
        """The subject of its traces."""
        return Traced(self.definition, self.solution, self.posted_at)


async def submit_solution(request: Request, caller_id: str, task: FlashInferTask) -> str:
    """Post the programs of `task` as one batch; return the id of the task.

    Raises ProblemRaised and RequestRejected.
    """
    solution, trace_set = task.solution, trace_set_of(request)
    definition = trace_set.definitions.get(solution.definition)
    if definition is None:
        raise _no_definition(trace_set, solution.definition)
    refuse_other_solutions(solution)
    workloads = selected(trace_set.workloads.get(definition.name, ()), task.workload_uuids)
    reasons = {workload.uuid: why_not(definition, workload) for workload in workloads}
    evaluated = [workload for workload in workloads if reasons[workload.uuid] is None]
    left_out = {uuid: why for uuid, why in reasons.items() if why is not None}
    if not evaluated:
        why = f"No workloads found for definition {definition.name}"
        if left_out:
            first = next(iter(left_out.values()))
            why = f"No workload of {definition.name} can be evaluated: {first}"
        return _failed_id(definition.name, solution.unique_name, why)
    programs = [
        # the seed is secret: with a fixed one, a table of precomputed outputs would pass
        program_of(solution, definition, workload) | {"seed": secrets.randbelow(1 << 63)}
        for workload in evaluated
    ]
    batch = await posted(request, BATCHES, {"kind": "programs", "requests": programs}, _POINTERS)
    uuids = [workload.uuid for workload in evaluated]
    posted_at = datetime.now(UTC).isoformat()
    name = solution.unique_name
    kept = KeptSolution(definition.name, name, batch["url"], uuids, left_out, posted_at)
    task_id = secrets.token_hex(16)
    data = orjson.dumps(asdict(kept))
    await host_of(request).store(Evaluations).keep(caller_id, KIND, task_id, data)
    return task_id


async def task_answer(
    request: Request, caller_id: str, task_id: str, wait_s: float
) -> FlashInferTaskAnswer:
    """Return a task after at most `wait_s`. Raises ProblemRaised (404)."""
    if task_id.startswith(_FAILED):
        return _failed(task_id)
    data = await host_of(request).store(Evaluations).find(caller_id, KIND, task_id)
    if data is None:
        raise ProblemRaised("not_found", f"Task not found: {task_id[:100]}")
    kept = read_stored(KeptSolution, data)
    batch = await awaited(request, kept.url, wait_s)
    answer = FlashInferTaskAnswer(
        task_id=task_id,
        status=_status(batch),
        definition=kept.definition,
        solution=kept.solution,
    )
    if answer.status == "completed":
        answer.traces = _traces(trace_set_of(request), kept, batch["items"])
    return answer


def _no_definition(trace_set: TraceSet, name: str) -> ProblemRaised:
    why = "" if trace_set.definitions else "; the operator must set TRITOND_FLASHINFER_TRACE"
    detail = f"Definition not found: {name[:100]}{why}"
    return ProblemRaised("invalid_request", detail, parameter="definition")


def _status(batch: Any) -> str:
    if batch["state"] == "completed":
        return "completed"
    counts = batch["counts"]
    is_pending = counts["queued"] == sum(counts.values())
    return "pending" if is_pending else "running"


def _traces(trace_set: TraceSet, kept: KeptSolution, items: Any) -> list[dict[str, Any]]:
    traces = []
    for uuid, item in zip(kept.evaluated, items, strict=True):
        workload = _workload(trace_set, uuid)
        if item["result"] is None:
            problem = item["problem"] or {"slug": "internal_error", "detail": "no result"}
            why = f"{problem['slug']}: {problem['detail']}"
            traces.append(kept.traced.left_out(workload, why))
        else:
            traces.append(kept.traced.evaluated(workload, item["result"]))
    for uuid, why in kept.left_out.items():
        traces.append(kept.traced.left_out(_workload(trace_set, uuid), f"not evaluated: {why}"))
    return traces


def _workload(trace_set: TraceSet, uuid: str) -> Workload:
    """Return the workload; if it left the folder since, only its known members."""
    return trace_set.workload(uuid) or Workload(uuid=uuid, axes={}, inputs={})


def _failed_id(definition: str, solution: str, why: str) -> str:
    written = orjson.dumps([definition, solution, why[:300]])
    return _FAILED + base64.urlsafe_b64encode(written).decode().rstrip("=")


def _failed(task_id: str) -> FlashInferTaskAnswer:
    encoded = task_id.removeprefix(_FAILED)
    try:
        padded = encoded[:_MAX_ID_CHARS] + "=" * (-len(encoded) % 4)
        definition, solution, why = _SAID.validate_json(base64.urlsafe_b64decode(padded))
        return FlashInferTaskAnswer(
            task_id=task_id, status="failed", definition=definition, solution=solution, error=why
        )
    except ValueError:  # not base64, not JSON, or not three texts
        raise ProblemRaised("not_found", f"Task not found: {task_id[:100]}") from None
