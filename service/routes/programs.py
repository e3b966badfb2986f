"""Programs: POST, GET, DELETE, their tapes and events. A program belongs to its caller."""

import time
from collections.abc import Mapping
from functools import partial
from typing import Annotated

import orjson
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from programs.program_record import Program, program_url
from programs.program_request import EXAMPLE, FUNCTION_EXAMPLE, WARMING_EXAMPLE, ProgramRequest
from programs.tape.json_schema import TAPE_SCHEMA
from service.caller import Caller
from service.compilations.answer import FINISHED_STATES, RETRY_AFTER_S, server_timing
from service.http.body import parse_body, read_body
from service.http.openapi import answer_of, body_of, events_of, header, wait_parameter
from service.http.problems import ProblemRaised
from service.http.query import requested_wait
from service.idempotency import KeyedSubmit
from service.programs.program_examples import ANSWERS, CANCELLED, TAPE, TAPE_TEXT, UNDER_WAY
from service.programs.program_submission import (
    cancel_program,
    read_program,
    submit_program,
    wait_for_program,
)
from service.programs.tape_answer import WhichTape, tape_answer
from service.routes.events import RESUMED, event_stream
from service.state import ServiceState, state_of
from service.submit_and_wait import submit_and_wait
from store.programs import StoredProgram

SCOPE = "launch"
FINISHED = FINISHED_STATES | {"completed"}
EXAMPLES = {
    "a model and its reference": EXAMPLE,
    "a function on inputs of the request": FUNCTION_EXAMPLE,
    "what it launches, compiled only": WARMING_EXAMPLE,
}
_ACCEPT = header("Accept", "`text/plain` for the readable form")

router = APIRouter(prefix="/v1/programs", tags=["programs"])


@router.post(
    "",
    summary="Run a program that launches kernels, and say whether it is right",
    responses=answer_of(Program, ANSWERS) | answer_of(Program, UNDER_WAY, status=202),
    openapi_extra={
        "requestBody": body_of(ProgramRequest, EXAMPLES),
        "parameters": [
            wait_parameter(),
            header("Idempotency-Key", "names this program for 24 hours"),
        ],
    },
)
async def post_program(request: Request) -> Response:
    """Answer 200 with a program that is over, 202 with one under way.

    It is recorded in a sandboxed process without data, and what was recorded is run by another
    one, which never sees its Python. A program that is wrong, or cannot be recorded, is a result.
    """
    started = time.perf_counter()
    state = state_of(request)
    caller = await state.callers.identify(request, SCOPE)
    wait = requested_wait(request, state.settings.max_wait_s)
    body = await read_body(request, state.settings.max_body_bytes)
    posted = parse_body(body, ProgramRequest)
    submit = KeyedSubmit(
        state,
        caller,
        request.headers.get("idempotency-key"),
        body,
        partial(submit_program, state, posted, caller),
        partial(_is_there, state, caller),
    )
    submitted, record = await submit_and_wait(state, submit, wait.seconds)
    if record is None:
        record = await read_program(state, submitted.job_id)
    return _response(record, started, wait.headers)


async def _is_there(state: ServiceState, caller: Caller, program_id: str) -> bool:
    return await state.programs.find(program_id, caller.id) is not None


def _response(record: bytes, started: float, headers: Mapping[str, str]) -> Response:
    program = orjson.loads(record)
    is_over = program["state"] in FINISHED
    own = {"Location": program_url(program["id"]), "Server-Timing": server_timing(started)}
    if not is_over:
        own["Retry-After"] = str(RETRY_AFTER_S)
    return Response(
        record,
        status_code=200 if is_over else 202,
        headers=own | dict(headers),
        media_type="application/json",
    )


@router.get(
    "/{program_id}",
    summary="A program, by id",
    responses=answer_of(Program, ANSWERS | UNDER_WAY),
    openapi_extra={"parameters": [wait_parameter()]},
)
async def get_program(request: Request, program_id: str) -> Response:
    """Answer 200 whatever the state."""
    state = state_of(request)
    caller = await state.callers.identify(request, SCOPE)
    await _find_owned(state, caller, program_id)
    wait = requested_wait(request, state.settings.max_wait_s)
    record = await wait_for_program(state, program_id, wait.seconds)
    return Response(record, headers=wait.headers, media_type="application/json")


@router.delete(
    "/{program_id}",
    summary="Cancel a program",
    responses=answer_of(Program, ANSWERS) | answer_of(Program, CANCELLED, status=202),
)
async def delete_program(request: Request, program_id: str) -> Response:
    """Answer 202, or 200 when it was over."""
    state = state_of(request)
    caller = await state.callers.identify(request, SCOPE)
    await _find_owned(state, caller, program_id)
    cancelled = await cancel_program(state, caller, program_id)
    record = await read_program(state, program_id)
    return Response(record, status_code=202 if cancelled else 200, media_type="application/json")


@router.get(
    "/{program_id}/tape",
    summary="What was recorded of a program: its ops and launches",
    response_class=Response,
    responses={
        200: {
            "content": {
                "application/json": {"schema": TAPE_SCHEMA, "example": TAPE},
                "text/plain": {"schema": {"type": "string"}, "example": TAPE_TEXT},
            }
        }
    },
    openapi_extra={"parameters": [_ACCEPT]},
)
async def get_tape(
    request: Request,
    program_id: str,
    program: Annotated[WhichTape, Query(description="whose tape")] = "candidate",
) -> Response:
    """Answer the tape as JSON, or told as text to who accepts that."""
    state = state_of(request)
    caller = await state.callers.identify(request, SCOPE)
    stored = await _find_owned(state, caller, program_id)
    return await tape_answer(request, state, program_id, stored, program)


@router.get(
    "/{program_id}/events",
    summary="queued, started, recorded, compiled, replayed, case and finished, as they happen",
    response_class=Response,
    responses=events_of(
        "queued", "started", "recorded", "compiled", "replayed", "case", "finished"
    ),
    openapi_extra=RESUMED,
)
async def get_program_events(request: Request, program_id: str) -> StreamingResponse:
    """Stream the events later than `Last-Event-ID`, until the program is over."""
    state = state_of(request)
    caller = await state.callers.identify(request, SCOPE)
    await _find_owned(state, caller, program_id)
    return await event_stream(request, state, program_id)


async def _find_owned(state: ServiceState, caller: Caller, program_id: str) -> StoredProgram:
    stored = await state.programs.find(program_id, caller.id)
    if stored is None:
        raise ProblemRaised("not_found", f"You have no program {program_id[:100]}")
    return stored
