"""Server-sent events of a compilation, resumable with Last-Event-ID."""

from collections.abc import AsyncIterator

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from service.problems import ProblemRaised
from service.shared import Shared, shared
from store.events import START, Event

router = APIRouter(prefix="/v1/compilations", tags=["compilations"])


@router.get("/{key}/events", summary="queued, started, stage and finished, as they happen")
async def get_events(request: Request, key: str) -> StreamingResponse:
    """Stream the events later than `Last-Event-ID`, until the compilation is finished."""
    state = shared(request)
    await state.callers.identify(request, "compile")
    return await event_stream(request, state, key)


async def event_stream(request: Request, state: Shared, job_id: str) -> StreamingResponse:
    """Answer the events of a job later than `Last-Event-ID`.

    Raises ProblemRaised: 422 for an id that is none, 404 when no events are kept.
    """
    after = request.headers.get("last-event-id") or START
    try:
        known = await state.events.read(job_id, after)
    except ValueError as error:
        detail = f"Last-Event-ID: {error}"
        raise ProblemRaised("invalid_request", detail, parameter="Last-Event-ID") from None
    if not known and await state.jobs.state(job_id) is None and after == START:
        raise ProblemRaised("not_found", f"No events of {job_id} are kept")
    stream = _stream(state.events.follow(job_id, after))
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(stream, headers=headers, media_type="text/event-stream")


async def _stream(events: AsyncIterator[Event]) -> AsyncIterator[bytes]:
    async for event in events:
        yield f"id: {event.id}\nevent: {event.kind}\ndata: {event.data.decode()}\n\n".encode()
