"""From a program request to its job, and what its caller is told before a worker has done it.

Nothing here parses, compiles or runs what was posted.
"""

import asyncio
from typing import Final

from compiler.rejection import Fault, RequestRejected
from compiler.request.resolution import offered_target
from compiler.toolchain import Toolchain
from programs.program_job import ProgramJob, new_program, program_problem
from programs.program_record import Program, program_url
from programs.program_request import ProgramRequest, check_program
from service.caller import Caller
from service.http.problems import ProblemRaised
from service.owned_jobs import OwnedJobs
from service.state import ServiceState
from store.jobs.types import (
    Membership,
    Priority,
    Submitted,
    Waiting,
    programs_lane,
)
from store.programs import StoredProgram

_TRYING_S: Final = "5"
"""After how many seconds to ask again whether a worker records."""


def _unfinished(payload: bytes, state: str, queue_position: int | None) -> Program:
    job = ProgramJob.model_validate_json(payload)
    return new_program(job, state, queue_position=queue_position)


def _cancelled(payload: bytes) -> Program:
    problem = program_problem("cancelled", "Its caller cancelled the program.")
    return new_program(ProgramJob.model_validate_json(payload), "cancelled", problem=problem)


async def _find(state: ServiceState, program_id: str, caller: str) -> StoredProgram | None:
    return await state.programs.find(program_id, caller)


PROGRAMS = OwnedJobs("program", program_url, _find, _unfinished, _cancelled)


async def submit_program(
    state: ServiceState,
    request: ProgramRequest,
    caller: Caller,
    program_id: str,
    *,
    waiting: Waiting | None = None,
    membership: Membership | None = None,
) -> Submitted:
    """Check all that can be checked without a worker, and queue the program.

    Raises RequestRejected, ProblemRaised, QueueFull, StoreUnavailable.
    """
    # in a thread: megabytes of sources take longer than other requests should wait
    await asyncio.to_thread(check_program, request, state.settings.request_limits)
    toolchain = await _choose_toolchain(state, request)
    job = ProgramJob(
        id=program_id,
        caller=caller.id,
        namespace=caller.namespace,
        request=request.model_dump(mode="json", by_alias=True, exclude_unset=True),
        toolchain_id=toolchain.id,
    )
    submitted = await state.jobs.submit(
        program_id,
        lane=programs_lane(toolchain.id),
        priority=Priority(request.priority),
        payload=job.model_dump_json().encode(),
        caller=caller.id,
        deadline_ms=int(request.deadline_s * 1000),
        waiting=waiting,
        membership=membership,
    )
    await state.programs.create(program_id, caller.id)
    return submitted


async def _choose_toolchain(state: ServiceState, request: ProgramRequest) -> Toolchain:
    """Return the toolchain that records the program. Raises RequestRejected, ProblemRaised."""
    chosen = await state.toolchains.choose(request.triton)
    recording = await state.workers.known_programs()
    if chosen.id not in recording:
        chosen = await _instead(state, chosen, recording, is_named=request.triton is not None)
    if request.target is not None:
        offered_target(request.target, chosen)
    return chosen


async def _instead(
    state: ServiceState, chosen: Toolchain, recording: frozenset[str], *, is_named: bool
) -> Toolchain:
    """Return a toolchain that programs are recorded with, where `chosen` is none of these.

    Raises RequestRejected where there is none, or the request names the Triton that it wants, and
    ProblemRaised (503) while a worker finds out whether it records.
    """
    others = [each for each in await state.toolchains.all() if each.id in recording]
    alike = [each for each in others if each.triton == chosen.triton]
    if alike or (others and not is_named):
        return (alike or others)[-1]
    if others:
        offered = ", ".join(sorted({each.triton for each in others}))
        message = f"no worker records programs with this Triton; there is one of {offered}"
        raise RequestRejected(Fault("/triton", message))
    raise await _refusal(state)


async def _refusal(state: ServiceState) -> RequestRejected | ProblemRaised:
    """Return why no worker records programs."""
    reports = [worker.sandbox_report or {} for worker in await state.workers.list()]
    if any((report.get("recording") or {}).get("is_being_tried") for report in reports):
        detail = (
            "A worker that started a moment ago is trying whether it can record programs, which "
            "takes some seconds; post again"
        )
        return ProblemRaised("no_toolchain", detail, headers={"Retry-After": _TRYING_S})
    message = (
        "no worker of this deployment records programs: they are offered where torch is installed "
        "beside a worker's Triton (a CPU build is enough). Install it there and start that worker "
        "again; GET /v1/targets says under `programs` where they are, GET /v1/system under "
        "`recording` why not"
    )
    return RequestRejected(Fault("", message))
