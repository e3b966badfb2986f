"""Routes of programs: POST, GET, DELETE, tapes and events. A program belongs to its caller."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from programs.program_record import Program
from programs.program_request import (
    EXAMPLE,
    FUNCTION_EXAMPLE,
    TIMED_EXAMPLE,
    WARMING_EXAMPLE,
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
from service.http.openapi import answer_of, header
from service.lists.own_list import Summary
from service.lists.summaries import Members, owned
from service.routes.owned_job_routes import SCOPE, OwnedRoutes, RouteText, add_owned_routes
from service.state import state_of

Which = Literal["candidate", "reference"]
MAX_CHARS = 100
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
        "kernel": ", ".join(names)[:MAX_CHARS] or None,
        "target": device.get("target"),
    }


def _of_job(job: Members) -> Summary:
    device = job["device"] or {}
    return {"target": device.get("target")}


LISTED = owned("programs", _of_record, _of_job)


add_owned_routes(
    router,
    PROGRAMS,
    OwnedRoutes(
        record=Program,
        requests={
            "a model and its reference": EXAMPLE,
            "a function on inputs of the request": FUNCTION_EXAMPLE,
            "on a GPU, and timed there": TIMED_EXAMPLE,
            "what it launches, compiled only": WARMING_EXAMPLE,
        },
        over=ANSWERS,
        unfinished=UNDER_WAY,
        cancelled=CANCELLED,
        events={
            "queued": QueuedEvent,
            "started": StartedEvent,
            "recorded": RecordedEvent,
            "compiled": CompiledEvent,
            "replayed": ReplayedEvent,
            "case": CaseEvent,
            "finished": FinishedEvent,
        },
        listed=LISTED,
        post=RouteText(
            "Run a program that launches kernels, and judge its outputs",
            "Answer 200 with a finished program, 202 with one that is queued or running.\n\n"
            "A sandboxed process records the program without data. Another process, which never "
            "sees its\nPython, runs the recording. A program that is wrong, or cannot be recorded, "
            "is a result.",
        ),
        list_description="Answer the programs that you posted, alone or in a batch.",
        get=RouteText("A program, by id", "Answer 200 whatever the state."),
        delete=RouteText("Cancel a program", "Answer 202, or 200 if it had finished."),
        follow=RouteText(
            "queued, started, recorded, compiled, replayed, case and finished, as they happen",
            "Stream the events after `Last-Event-ID`, until the program has finished.",
        ),
    ),
)


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
