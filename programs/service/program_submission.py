"""Turns a program request into a job and queues it.

Nothing here parses, compiles or runs the posted source.
"""

import hashlib
import secrets

from jobs.submission import JobOrder
from launch.request.initializer import SEED_BITS
from programs.flag_kinds import chosen_kinds
from programs.program_job import ProgramJob, program_job
from programs.program_kind import PROGRAM
from programs.program_request import ProgramRequest
from programs.service.checked_request import character_count, check_program, choose_runner
from programs.stored_programs import Programs, StoredProgram
from service.caller import Caller
from service.large_bodies import IN_LOOP_BYTES
from service.owned_jobs import OwnedJobs
from service.state import ServiceState
from store.jobs.types import (
    Membership,
    Priority,
    Submitted,
    Waiting,
)
from store.own_lists import Listing


async def _find(state: ServiceState, program_id: str, caller: str) -> StoredProgram | None:
    return await state.store(Programs).find(program_id, caller)


async def submit_program(
    state: ServiceState,
    request: ProgramRequest,
    caller: Caller,
    program_id: str,
    *,
    waiting: Waiting | None = None,
    membership: Membership | None = None,
) -> Submitted:
    """Do every check that needs no worker, and queue the program.

    Raises RequestRejected, ProblemRaised, QueueFull, StoreUnavailable.
    """
    if character_count(request) <= IN_LOOP_BYTES:
        check_program(request, state.settings.request_limits)
    else:  # checking megabytes of source would hold up other requests
        await state.threads.run(check_program, request, state.settings.request_limits)
    runner = await choose_runner(state, request)
    job = program_job(
        request,
        program_id=program_id,
        caller=caller.id,
        namespace=caller.namespace,
        toolchain_id=runner.toolchain_id,
        device=runner.device,
        lane=runner.lane,
        drawn_seed=secrets.randbits(SEED_BITS),
        serious_flags=chosen_kinds(state.settings.serious_flags),
    )
    order = JobOrder(
        PROGRAM,
        job,
        caller.id,
        Priority(request.priority),
        queued_ms=int(request.deadline_s * 1000),
        membership=membership,
        listing=Listing("programs"),
        # the plan of a batch has the ids of its items, which join each other before they come here
        equal_name=_equal_name(job) if request.seed is None and membership is None else "",
    )
    submitted = await state.client.submit(order, waiting=waiting)
    await state.store(Programs).create(submitted.job_id, caller.id)
    return submitted


def _equal_name(job: ProgramJob) -> str:
    """Return the name that equal jobs of one caller share, whatever their ids and drawn seeds."""
    return hashlib.sha256(PROGRAM.written(job.model_copy(update={"id": "", "seed": 0}))).hexdigest()


PROGRAMS = OwnedJobs(PROGRAM, "programs", submit_program, _find, runs_equal_once=True)
