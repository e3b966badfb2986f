"""Routes of programs: POST, GET, DELETE, tapes and events. A program belongs to its caller."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from programs.program_record import Program
from programs.program_request import (
    EXAMPLE,
    FUNCTION_EXAMPLE,
    TIMED_EXAMPLE,
    WARMING_EXAMPLE,
    ProgramRequest,
)
from programs.receipt import Receipt
from programs.service.program_examples import (
    ANSWERS,
    CANCELLED,
    RECEIPT,
    TAPE,
    TAPE_TEXT,
    UNDER_WAY,
)
from programs.service.program_files import WhichTape, receipt_answer, tape_answer
from programs.service.program_submission import PROGRAMS
from programs.tape.json_schema import TAPE_SCHEMA
from service.http.event_data import CaseEvent, FinishedEvent, QueuedEvent, StartedEvent
from service.http.openapi import answer_of, body_of, events_of, header, wait_parameter
from service.idempotency import HEADER
from service.lists.own_list import Summary, list_route
from service.lists.summaries import Members, owned
from service.routes.events import RESUMED
from service.routes.owned_job_routes import SCOPE, delete_owned, get_owned, post_owned, stream_owned
from service.state import state_of

Which = Literal["candidate", "reference"]
MOST_CHARS = 100
EXAMPLES = {
    "a model and its reference": EXAMPLE,
    "a function on inputs of the request": FUNCTION_EXAMPLE,
    "on a GPU, and timed there": TIMED_EXAMPLE,
    "what it launches, compiled only": WARMING_EXAMPLE,
}
_ACCEPT = header("Accept", "`text/plain` for the readable form")

router = APIRouter(prefix="/v1/programs", tags=["programs"])


class RecordedEvent(BaseModel):
    """A tape is recorded."""

    program: Which
    ops: int
    launches: int


class CompiledEvent(BaseModel):
    """A kernel that the program launches is compiled."""

    kernel: str
    state: Literal["succeeded", "failed"]
    compilation_key: str | None


class ReplayedEvent(BaseModel):
    """A tape has run."""

    program: Which
    peak_bytes: int = Field(description="of its tensors")


def _of_record(record: Members) -> Summary:
    names = dict.fromkeys(kernel["name"] for kernel in record["kernels"])
    device = record["device"] or {}
    return {
        "state": record["state"],
        "verdict": record["verdict"],
        "kernel": ", ".join(names)[:MOST_CHARS] or None,
        "target": device.get("target"),
    }


def _of_job(job: Members) -> Summary:
    device = job["device"] or {}
    return {"target": device.get("target")}


LISTED = owned("programs", _of_record, _of_job)


@router.post(
    "",
    summary="Run a program that launches kernels, and judge its outputs",
    responses=answer_of(Program, ANSWERS) | answer_of(Program, UNDER_WAY, status=202),
    openapi_extra={
        "requestBody": body_of(ProgramRequest, EXAMPLES),
        "parameters": [
            wait_parameter(),
            HEADER,
        ],
    },
)
async def post_program(request: Request) -> Response:
    """Answer 200 with a finished program, 202 with one that is queued or running.

    A sandboxed process records the program without data. Another process, which never sees its
    Python, runs the recording. A program that is wrong, or cannot be recorded, is a result.
    """
    return await post_owned(request, PROGRAMS)


list_route(router, LISTED, (SCOPE,), "Answer the programs that you posted, alone or in a batch.")


@router.get(
    "/{program_id}",
    summary="A program, by id",
    responses=answer_of(Program, ANSWERS | UNDER_WAY),
    openapi_extra={"parameters": [wait_parameter()]},
)
async def get_program(request: Request, program_id: str) -> Response:
    """Answer 200 whatever the state."""
    return await get_owned(request, PROGRAMS, program_id)


@router.delete(
    "/{program_id}",
    summary="Cancel a program",
    responses=answer_of(Program, ANSWERS) | answer_of(Program, CANCELLED, status=202),
)
async def delete_program(request: Request, program_id: str) -> Response:
    """Answer 202, or 200 if it had finished."""
    return await delete_owned(request, PROGRAMS, program_id)


@router.get(
    "/{program_id}/tape",
    summary="The tape of a program: its recorded ops and launches",
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
    """Answer the tape as JSON, or as readable text if `Accept` prefers that."""
    state = state_of(request)
    caller = await state.callers.identify(request, SCOPE)
    stored = await PROGRAMS.find_owned(state, caller, program_id)
    return await tape_answer(request, state, program_id, stored, program)


@router.get(
    "/{program_id}/receipt",
    summary="A signed receipt of a program, for others to judge again",
    responses=answer_of(Receipt, {"a receipt": RECEIPT}),
)
async def get_receipt(request: Request, program_id: str) -> Response:
    """Answer the receipt of a judged program: a DSSE envelope, whose payload is JSON.

    The payload has the record of the program, what was asked (sources and seed, too), tapes, and
    digests of kernels and values.
    """
    state = state_of(request)
    caller = await state.callers.identify(request, SCOPE)
    stored = await PROGRAMS.find_owned(state, caller, program_id)
    return await receipt_answer(request, state, program_id, stored)


@router.get(
    "/{program_id}/events",
    summary="queued, started, recorded, compiled, replayed, case and finished, as they happen",
    response_class=Response,
    responses=events_of(
        "ProgramEvent",
        queued=QueuedEvent,
        started=StartedEvent,
        recorded=RecordedEvent,
        compiled=CompiledEvent,
        replayed=ReplayedEvent,
        case=CaseEvent,
        finished=FinishedEvent,
    ),
    openapi_extra=RESUMED,
)
async def get_program_events(request: Request, program_id: str) -> StreamingResponse:
    """Stream the events after `Last-Event-ID`, until the program has finished."""
    return await stream_owned(request, PROGRAMS, program_id)
