"""Server-sent events of a compilation, a launch or a batch, resumable with Last-Event-ID.

A comment after each silence keeps proxies from closing the connection.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from service.compilations.retrieval import read_compile_job
from service.http.event_data import FinishedEvent, QueuedEvent, StageEvent, StartedEvent
from service.http.middleware import IS_HEAD
from service.http.openapi import events_of, header
from service.http.problems import ProblemRaised
from service.state import ServiceState, state_of
from store.events import FINISHED, START, Event, check_id

_KEEP_ALIVE = b": still here\n\n"

STREAM = events_of(
    "CompilationEvent",
    queued=QueuedEvent,
    started=StartedEvent,
    stage=StageEvent,
    finished=FinishedEvent,
)
LAST_EVENT_ID = header(
    "Last-Event-ID",
    "id of the last event received; the stream resumes after it",
    r"^([0-9]{1,19}(-[0-9]{1,19})?)?$",
)
RESUMED: dict[str, Any] = {"parameters": [LAST_EVENT_ID]}

_END = Event("0-1", FINISHED, b'{"ending":"finished"}')
ReadRecord = Callable[[str], Awaitable[bytes | None]]

router = APIRouter(prefix="/v1/compilations", tags=["compilations"])


@router.get(
    "/{key}/events",
    summary="Stream the events queued, started, stage and finished",
    response_class=Response,
    responses=STREAM,
    openapi_extra=RESUMED,
)
async def get_events(request: Request, key: str) -> StreamingResponse:
    """Stream events after `Last-Event-ID` until the compilation is finished."""
    state = state_of(request)
    caller = await state.callers.identify(request, "compile")
    await read_compile_job(state, caller, key)
    return await event_stream(request, state, key, state.compilations.read)


async def event_stream(
    request: Request, state: ServiceState, job_id: str, read_record: ReadRecord | None = None
) -> StreamingResponse:
    """Answer the events of a job or batch after `Last-Event-ID`.

    Events expire before records do: if only a record is left, answer `finished` alone.
    Raises ProblemRaised: 422 for an invalid id, 404 if neither events nor a record exist.
    """
    after = request.headers.get("last-event-id") or START
    try:
        check_id(after)
    except ValueError as error:
        detail = f"Last-Event-ID: {error}"
        raise ProblemRaised("invalid_request", detail, parameter="Last-Event-ID") from None
    if (await state.event_followers.read_once(job_id)).is_known:
        return _streaming(request, state.event_followers.follow(job_id, after))
    if read_record is not None and await read_record(job_id) is not None:
        return _streaming(request, _once(_END if after != _END.id else None))
    if after == START:
        raise ProblemRaised(
            "not_found", f"The events of {job_id} have expired, or it never existed"
        )
    return _streaming(request, _once(None))


def _streaming(request: Request, events: AsyncIterator[Event | None]) -> StreamingResponse:
    if IS_HEAD in request.scope:
        events = _once(None)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(render_events(events), headers=headers, media_type="text/event-stream")


async def _once(event: Event | None) -> AsyncIterator[Event | None]:
    if event is not None:
        yield event


async def render_events(events: AsyncIterator[Event | None]) -> AsyncIterator[bytes]:
    """Yield events in the wire format, and a comment for each silence."""
    async for event in events:
        yield _KEEP_ALIVE if event is None else _render(event)


def _render(event: Event) -> bytes:
    return f"id: {event.id}\nevent: {event.kind}\ndata: {event.data.decode()}\n\n".encode()
