"""Answers the tape of a program: the recorded JSON, or readable text."""

import re
from collections.abc import Sequence
from typing import Literal

from fastapi import Request, Response

from programs.program_record import Program, ProgramKernel
from programs.stored_programs import StoredProgram
from programs.tape.flow import KernelsEffects
from programs.tape.kernel_effects import NO_EFFECTS, KernelEffects, united_effects
from programs.tape.read_tape import read_tape
from programs.tape.schema import InvalidTape, Tape
from programs.tape.tape_text import tape_text
from service.http.problems import ProblemRaised
from service.routes.artifacts import blob_response
from service.state import ServiceState
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
    places = {name: (one.name, one.file, one.line) for name, one in tape.kernels.items()}
    return {name: at[place] for name, place in places.items() if place in at}


def _of(kernel: ProgramKernel) -> KernelEffects | None:
    if kernel.reads is None or kernel.writes is None:
        return None
    return KernelEffects(frozenset(kernel.reads), frozenset(kernel.writes))


def _unavailable(why: str) -> ProblemRaised:
    detail = f"This tape cannot be shown as text ({why}). Request it as application/json"
    return ProblemRaised("not_found", detail)
