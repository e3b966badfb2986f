"""Server-sent events of a compilation, resumable with Last-Event-ID.

A comment after every silence keeps proxies from closing the connection.
"""

from collections.abc import AsyncIterator

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from service.posted import posted_job
from service.problems import ProblemRaised
from service.shared import Shared, shared
from store.events import START, Event

_KEEP_ALIVE = b": still here\n\n"

router = APIRouter(prefix="/v1/compilations", tags=["compilations"])


@router.get("/{key}/events", summary="queued, started, stage and finished, as they happen")
async def get_events(request: Request, key: str) -> StreamingResponse:
    """Stream the events later than `Last-Event-ID`, until the compilation is finished."""
    state = shared(request)
    caller = await state.callers.identify(request, "compile")
    await posted_job(state, caller, key)
    return await event_stream(request, state, key)


async def event_stream(request: Request, state: Shared, job_id: str) -> StreamingResponse:
    """Answer the events of a job or batch later than `Last-Event-ID`.

    Raises ProblemRaised: 422 for an id that is none, 404 when no events are kept.
    """
    after = request.headers.get("last-event-id") or START
    try:
        known = await state.events.read(job_id, after)
    except ValueError as error:
        detail = f"Last-Event-ID: {error}"
        raise ProblemRaised("invalid_request", detail, parameter="Last-Event-ID") from None
    if not known and after == START and not await state.following.is_alive(job_id):
        raise ProblemRaised("not_found", f"No events of {job_id} are kept")
    stream = as_text(state.following.follow(job_id, after))
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(stream, headers=headers, media_type="text/event-stream")


async def as_text(events: AsyncIterator[Event | None]) -> AsyncIterator[bytes]:
    """Yield events as they are sent, and a comment for each silence."""
    async for event in events:
        yield _KEEP_ALIVE if event is None else _rendered(event)


def _rendered(event: Event) -> bytes:
    return f"id: {event.id}\nevent: {event.kind}\ndata: {event.data.decode()}\n\n".encode()
