"""Launches: POST, GET, DELETE, their outputs, traces and events. A launch belongs to its caller."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from compiler.rejection import FieldError, RequestRejected
from jobs.deadline import Deadline
from launch.messages import Finding
from launch.request.launch_record import Launch
from launch.request.launch_request import CPU_EXAMPLE, EXAMPLE
from service.http.answer_parts import AnswerRoom, parts_response
from service.http.body import parse_body, read_body
from service.http.event_data import CaseEvent, FinishedEvent, QueuedEvent, StartedEvent
from service.http.openapi import body_of, bytes_as
from service.http.problems import ProblemRaised
from service.launches.launch_submission import LAUNCHES
from service.lists.summaries import LAUNCHES as LISTED
from service.routes.artifacts import blob_response
from service.routes.owned_job_routes import SCOPE, OwnedRoutes, RouteText, add_owned_routes
from service.state import ServiceState, state_of
from store.launches import StoredLaunch

PATH = "/v1/launches"
PRIVATE = {"Cache-Control": "private, no-cache"}

router = APIRouter(prefix=PATH, tags=["launches"])
add_owned_routes(
    router,
    LAUNCHES,
    OwnedRoutes(
        record=Launch,
        requests={"vector add": EXAMPLE, "on a CPU": CPU_EXAMPLE},
        events={
            "queued": QueuedEvent,
            "started": StartedEvent,
            "case": CaseEvent,
            "finished": FinishedEvent,
            "finding": Finding,
        },
        listed=LISTED,
        post=RouteText(
            "Run a kernel and check its results",
            "Answer 200 with a finished launch, 202 while it is queued or running.",
        ),
        list_description="Answer the launches that you posted, alone or in a batch.",
        get=RouteText("Get a launch by id", "Answer 200 in every state."),
        delete=RouteText("Cancel a launch", "Answer 202, or 200 when it was over."),
        follow=RouteText(
            "Stream the events queued, started, case, finished and finding",
            "Stream events after `Last-Event-ID` until the launch is over.",
        ),
    ),
)


class LaunchQuery(BaseModel):
    """Ids of launches, and how long to wait until all of them are over."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    ids: list[Annotated[str, Field(max_length=64)]] = Field(max_length=1000)
    wait_s: Annotated[float, Field(ge=0)] = 0


class LaunchAnswers(BaseModel):
    """Launches, in the order of the query."""

    launches: list[Launch]


@router.post(
    "/query",
    summary="Get several launches, in the order of their ids",
    responses={200: {"model": LaunchAnswers}},
    openapi_extra={"requestBody": body_of(LaunchQuery, {})},
)
async def query_launches(request: Request) -> Response:
    """Answer when all are over, at the latest after `wait_s`; 404 if one does not exist.

    Ids may not repeat. 413 if the launches have more than 32 MiB together.
    """
    state = state_of(request)
    caller = await state.callers.identify(request, SCOPE)
    body = await read_body(request, state.settings.max_body_bytes)
    query = parse_body(body, LaunchQuery)
    _refuse_repeats(query.ids)
    deadline = Deadline(min(query.wait_s, state.settings.max_wait_s))
    for launch_id in query.ids:
        await LAUNCHES.find_owned(state, caller, launch_id)
    room, parts = AnswerRoom(state.settings.max_batch_answer_bytes), [b'{"launches":[']
    for launch_id in query.ids:
        record = await LAUNCHES.wait_for(state, launch_id, deadline)
        if not room.take(len(record)):
            detail = (
                f"These launches have more than {room.limit_bytes} bytes together: the first "
                f"{len(parts) // 2} fit; ask for the others in another query, or one by one"
            )
            raise ProblemRaised("too_large", detail, limit=room.limit_bytes)
        parts += [record, b","]
    return parts_response([*(parts[:-1] if query.ids else parts), b"]}"], {})


def _refuse_repeats(ids: Sequence[str]) -> None:
    """Raise RequestRejected for an id that is there twice: each would be answered in full."""
    first: dict[str, int] = {}
    for index, launch_id in enumerate(ids):
        if (before := first.setdefault(launch_id, index)) != index:
            raise RequestRejected(FieldError(f"/ids/{index}", f"is the same as /ids/{before}"))


@router.get(
    "/{launch_id}/outputs/{argument}",
    summary="Get an output tensor as .npy",
    response_class=Response,
    responses=bytes_as("application/x-npy"),
)
async def get_output(request: Request, launch_id: str, argument: str, case: int = 0) -> Response:
    """Answer the file of an output that the launch returns as `tensor`."""
    state = state_of(request)
    caller = await state.callers.identify(request, SCOPE)
    stored = await LAUNCHES.find_owned(state, caller, launch_id)
    return await _answer_file(request, state, stored, f"{case}/{argument}", "application/x-npy")


@router.get(
    "/{launch_id}/trace",
    summary="Get the memory accesses and values of traced program instances",
)
async def get_trace(request: Request, launch_id: str, case: int = 0) -> Response:
    """Answer `{"accesses": [...], "truncated": ...}` of a launch on the CPU device with `trace`.

    With `values` the answer also has `steps` and `steps_truncated`: the line, name, type, shape and
    first elements of each operation.
    """
    state = state_of(request)
    caller = await state.callers.identify(request, SCOPE)
    stored = await LAUNCHES.find_owned(state, caller, launch_id)
    return await _answer_file(request, state, stored, f"{case}/", "application/json")


async def _answer_file(
    request: Request, state: ServiceState, stored: StoredLaunch, name: str, media_type: str
) -> Response:
    digest = stored.outputs.get(name)
    if digest is None:
        detail = "This launch has no such file; request it with `return` or `trace` in the launch"
        raise ProblemRaised("not_found", detail)
    response = await blob_response(request, state, digest, media_type, PRIVATE)
    if response is None:
        raise ProblemRaised("evicted", "The file has left the cache; post the launch again")
    return response
