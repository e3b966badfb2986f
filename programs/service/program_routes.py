"""Routes of programs: POST, GET, DELETE, tapes and events. A program belongs to its caller."""

import re
from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from programs.program_record import Program, ProgramKernel
from programs.program_request import (
    EXAMPLE,
    FUNCTION_EXAMPLE,
    TIMED_EXAMPLE,
    WARMING_EXAMPLE,
)
from programs.receipt import Receipt, receipt_of, receipt_payload, signed_bytes
from programs.service.program_examples import (
    ANSWERS,
    CANCELLED,
    RECEIPT,
    TAPE,
    TAPE_TEXT,
    UNDER_WAY,
)
from programs.service.program_submission import PROGRAMS
from programs.stored_programs import StoredProgram
from programs.tape.flow import KernelsEffects
from programs.tape.json_schema import TAPE_SCHEMA
from programs.tape.kernel_effects import NO_EFFECTS, KernelEffects, united_effects
from programs.tape.read_tape import read_tape
from programs.tape.schema import InvalidTape, Tape
from programs.tape.tape_text import tape_text
from service import VERSION
from service.http.event_data import CaseEvent, FinishedEvent, QueuedEvent, StartedEvent
from service.http.openapi import answer_of, header
from service.http.problems import ProblemRaised
from service.http.validators import Caching, validated
from service.lists.own_list import Summary
from service.lists.summaries import Members, failure_of, owned
from service.receipt_key import ReceiptKey
from service.routes.artifacts import blob_response
from service.routes.owned_job_routes import SCOPE, OwnedRoutes, RouteText, add_owned_routes
from service.state import ServiceState, state_of
from store.frames import digested
from store.stored import read_stored

WhichTape = Literal["candidate", "reference"]
PRIVATE = {"Cache-Control": "private, no-cache", "Vary": "Accept, Accept-Encoding"}
MAX_TAPE_BYTES = 2 << 20
"""Limit of a tape shown as text: parsing takes a second per 4 MB, in this process."""
_TEXT = "text/plain"
_WEIGHT = re.compile(r"q=(0(?:\.\d{1,3})?|1(?:\.0{1,3})?)")


async def tape_answer(
    request: Request, state: ServiceState, program_id: str, stored: StoredProgram, which: WhichTape
) -> Response:
    """Return the tape of the program, or of its reference.

    Raises ProblemRaised: 409 while it may still be recorded, 404 if it was not recorded, 410 if it
    has left the cache.
    """
    digest = stored.tapes.get(which)
    if digest is None:
        raise await _missing(state, program_id, which)
    if prefers_text(request.headers.get("accept", "")):
        data = await state.blobs.get(digest)
        if data is not None and len(data) > MAX_TAPE_BYTES:
            raise _unavailable(f"it has {len(data)} bytes, more than {MAX_TAPE_BYTES}")
        if data is not None:
            result = await state.jobs.result(program_id)
            record = None if result is None else result.record
            # in a thread: both may be long
            text = await state.threads.run(_readable, data, record, which)
            headers = PRIVATE | {"ETag": f'"{await digested(text)}"'}
            return Response(text, headers=headers, media_type=_TEXT)
    elif response := await blob_response(request, state, digest, "application/json", PRIVATE):
        response.headers["Vary"] = PRIVATE["Vary"]
        return response
    raise ProblemRaised("evicted", "The tape has left the cache; post the program again")


async def _missing(state: ServiceState, program_id: str, which: WhichTape) -> ProblemRaised:
    if await state.jobs.state(program_id) is not None:
        detail = f"The {which} is not recorded yet. Ask again, or wait for the program"
        return ProblemRaised("not_finished", detail, headers={"Retry-After": "1"})
    if which == "reference":
        detail = "There is no tape of a reference: none was posted, or it was not recorded"
        return ProblemRaised("not_found", detail)
    detail = "The program was not recorded: see its `problem`"
    return ProblemRaised("not_found", detail)


def prefers_text(accept: str) -> bool:
    """Return True if `Accept` prefers plain text to JSON (RFC 9110, 12.5.1)."""
    weights = dict(map(_weighed, accept.split(",")))
    return weights.get(_TEXT, 0.0) > weights.get("application/json", 0.0)


def _weighed(part: str) -> tuple[str, float]:
    name, _, parameters = part.partition(";")
    weight = _WEIGHT.search(parameters)
    return name.strip().lower(), float(weight[1]) if weight else 1.0


def _readable(data: bytes, record: bytes | None, which: WhichTape) -> bytes:
    """Return a tape as text; `record` is its program's, None before that has finished."""
    try:
        tape = read_tape(data)
    except InvalidTape as forged:  # recorded by a version of tritond with other checks
        raise _unavailable(str(forged)) from None
    kernels = () if record is None else _compiled(read_stored(Program, record), which)
    return tape_text(tape, _effects(tape, kernels)).encode()


def _compiled(program: Program, which: WhichTape) -> Sequence[ProgramKernel]:
    if which == "candidate":
        return program.kernels
    return program.reference.kernels if program.reference is not None else ()


def _effects(tape: Tape, kernels: Sequence[ProgramKernel]) -> KernelsEffects:
    """Return the effects of those kernels of a tape that were compiled.

    Kernels that were defined at the same line, for instance by a factory, share their effects.
    """
    at: dict[tuple[str, str | None, int | None], KernelEffects | None] = {}
    for kernel in kernels:
        if kernel.problem is None:
            place = (kernel.name, kernel.file, kernel.line)
            at[place] = united_effects(at.get(place, NO_EFFECTS), _of(kernel))
    places = {
        name: (kernel.name, kernel.file, kernel.line) for name, kernel in tape.kernels.items()
    }
    return {name: at[place] for name, place in places.items() if place in at}


def _of(kernel: ProgramKernel) -> KernelEffects | None:
    if kernel.reads is None or kernel.writes is None:
        return None
    return KernelEffects(frozenset(kernel.reads), frozenset(kernel.writes))


def _unavailable(why: str) -> ProblemRaised:
    detail = f"This tape cannot be shown as text ({why}). Request it as application/json"
    return ProblemRaised("not_found", detail)


async def receipt_answer(
    request: Request, state: ServiceState, program_id: str, stored: StoredProgram
) -> Response:
    """Return the receipt of a program.

    Raises ProblemRaised: 409 before the program has ended, 404 if nothing ran or the service has
    no key, 410 if a part of the receipt has left the cache.
    """
    key = state.receipt_key
    if key is None:
        detail = "This service signs no receipts: its operator can set TRITOND_RECEIPT_KEY_FILE"
        raise ProblemRaised("not_found", detail)
    result = await state.jobs.result(program_id)
    if result is None:
        if await state.jobs.state(program_id) is not None:
            detail = "The program has not ended. Ask again, or wait for the program"
            raise ProblemRaised("not_finished", detail, headers={"Retry-After": "1"})
        raise ProblemRaised("not_found", "The program has expired; post it again")
    if stored.receipt is None:
        detail = "There is no receipt, since the program was not judged: see its `problem`"
        raise ProblemRaised("not_found", detail)
    work = await state.blobs.get(stored.receipt)
    if work is None:
        raise ProblemRaised("evicted", "The receipt has left the cache; post the program again")
    tapes = {
        whose: (digest, await state.blobs.get(digest)) for whose, digest in stored.tapes.items()
    }
    # in a thread: all of it may be long
    text = await state.threads.run(_signed, key, result.record, work, tapes)
    return await validated(request, text, Caching.FINAL, {})


def _signed(
    key: ReceiptKey, record: bytes, work: bytes, tapes: dict[str, tuple[str, bytes | None]]
) -> bytes:
    payload = receipt_payload(record, work, tapes, VERSION)
    receipt = receipt_of(payload, key.id, key.sign(signed_bytes(payload)))
    return receipt.model_dump_json().encode()


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
        **failure_of(record),
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
