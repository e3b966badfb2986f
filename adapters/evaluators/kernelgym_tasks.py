"""Stored tasks of KernelGYM: the caller's name for a program, and the ignored fields."""

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import orjson
from fastapi import Request

from adapters.evaluators.evaluation_tasks import Evaluations
from adapters.evaluators.inner_programs import is_there, posted
from adapters.evaluators.kernelgym_result import now
from adapters.evaluators.kernelgym_task import (
    POINTERS,
    KernelGymTask,
    not_applied,
    program_of,
    refuse_other_work,
)
from service.adapter_host import host_of
from service.http.problems import ProblemRaised
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


async def submit_task(
    request: Request, caller_id: str, task: KernelGymTask, pointer: str = ""
) -> KeptTask:
    """Post the program of `task`, unless the caller's task of this name already did.

    Raises ProblemRaised and RequestRejected.
    """
    on_gpu = any(runner.device is not None for runner in await host_of(request).program_runners())
    refuse_other_work(task, pointer, on_gpu=on_gpu)
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
