"""The tape of a program as its caller reads it, as it was recorded."""

from typing import Literal

from fastapi import Request, Response

from service.http.problems import ProblemRaised
from service.routes.artifacts import blob_response
from service.state import ServiceState
from store.programs import StoredProgram

WhichTape = Literal["candidate", "reference"]
PRIVATE = {"Cache-Control": "private, no-cache", "Vary": "Accept-Encoding"}


async def tape_answer(
    request: Request, state: ServiceState, program_id: str, stored: StoredProgram, which: WhichTape
) -> Response:
    """Return the tape of the program, or of its reference.

    Raises ProblemRaised: 409 while it may still be recorded, 404 where it was not, 410 where it has
    left the cache.
    """
    digest = stored.tapes.get(which)
    if digest is None:
        raise await _missing(state, program_id, which)
    if response := await blob_response(request, state, digest, "application/json", PRIVATE):
        return response
    raise ProblemRaised("evicted", "The tape has left the cache; post the program again")


async def _missing(state: ServiceState, program_id: str, which: WhichTape) -> ProblemRaised:
    if await state.jobs.state(program_id) is not None:
        detail = f"The {which} is not recorded yet; ask again, or wait for the program"
        return ProblemRaised("not_finished", detail, headers={"Retry-After": "1"})
    if which == "reference":
        detail = "There is no tape of a reference: the program has none, or it was not recorded"
        return ProblemRaised("not_found", detail)
    detail = "The program was not recorded; its `problem` says why"
    return ProblemRaised("not_found", detail)
