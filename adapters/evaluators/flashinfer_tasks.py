"""Stored tasks of flashinfer-bench: a batch of programs, one for each workload.

A task without any workload to evaluate is not stored; its id contains the reason.
"""

import base64
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import orjson
from fastapi import Request
from pydantic import TypeAdapter

from adapters.evaluators.evaluation_tasks import Evaluations
from adapters.evaluators.flashinfer_solution import (
    FlashInferTask,
    program_of,
    refuse_other_solutions,
    selected,
    why_not,
)
from adapters.evaluators.flashinfer_trace import FlashInferTaskAnswer, Traced
from adapters.evaluators.flashinfer_trace_set import TraceSet, Workload, trace_set_of
from adapters.evaluators.inner_programs import awaited, posted
from service.adapter_host import host_of
from service.http.problems import ProblemRaised
from store.stored import read_stored

KIND = "flashinfer-bench"
BATCHES = "/v1/batches"
_FAILED = "failed-"
_MAX_ID_CHARS = 2048
_SAID = TypeAdapter(tuple[str, str, str])
"""The parts of a failed task's id: definition, solution, and reason."""
_POINTERS = {"/requests/0/source": "/solution/sources"}


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
