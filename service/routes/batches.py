"""Batches: POST, GET, DELETE and their events. A batch belongs to its caller."""

import time
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from service.batches.batch import Batch, BatchRequest, batch_url
from service.batches.batch_answer import BatchAnswer, batch_answer
from service.batches.batch_submission import cancel_batch, check_kind, submit_batch
from service.caller import Caller, require
from service.compilations.answer import RETRY_AFTER_S, server_timing
from service.http.answer_parts import parts_response
from service.http.body import read_body
from service.http.event_data import BatchFinishedEvent, ItemEvent
from service.http.openapi import events_of, wait_parameter
from service.http.problems import ProblemRaised
from service.http.query import requested_wait
from service.http.validators import Caching, validated
from service.idempotency import HEADER, KeyedPost
from service.large_bodies import parsed
from service.lists.own_list import list_route
from service.lists.summaries import BATCHES
from service.routes.events import RESUMED, event_stream
from service.state import ServiceState, state_of
from store.batches import StoredBatch
from store.byte_limits import MAX_ID_BYTES

SCOPES = ("compile", "launch")
Results = Annotated[
    Literal["all", "none"], Query(description="`none` leaves all results null, for cheap polling")
]

router = APIRouter(prefix="/v1/batches", tags=["batches"])


@router.post(
    "",
    summary="Submit a batch",
    responses={200: {"model": Batch}, 202: {"model": Batch}},
    openapi_extra={
        "parameters": [wait_parameter(), HEADER],
    },
)
async def post_batch(request: Request, results: Results = "all") -> Response:
    """Answer 200 when all items are over, 202 while some are not.

    An invalid item, or one that finds the queue full, becomes a problem at its index. The other
    items continue.
    """
    started = time.perf_counter()
    state = state_of(request)
    caller = await state.callers.identify(request, *SCOPES)
    wait = requested_wait(request, state.settings.max_wait_s)
    body = await read_body(request, state.settings.max_batch_bytes)
    posted = await parsed(state, body, BatchRequest)
    require(caller, check_kind(state, posted.kind))
    batch_id = await KeyedPost.of(request, state, caller, body).make(
        partial(submit_batch, state, posted, caller), partial(_submitted, state, caller)
    )
    if wait.seconds:
        await state.results.wait(batch_id, wait.seconds)
    batch = await _find_owned(state, caller, batch_id)
    answer = await batch_answer(state, batch, with_results=results == "all")
    headers = {"Location": batch_url(batch_id), "Server-Timing": server_timing(started)}
    return _response(answer, 200 if answer.is_finished else 202, headers | wait.headers)


list_route(router, BATCHES, SCOPES, "Answer your batches.")


@router.get(
    "/{batch_id}",
    summary="Get a batch by id",
    response_model=Batch,
    openapi_extra={"parameters": [wait_parameter()]},
)
async def get_batch(request: Request, batch_id: str, results: Results = "all") -> Response:
    """Answer 200 in every state."""
    state = state_of(request)
    caller = await state.callers.identify(request, *SCOPES)
    batch = await _find_owned(state, caller, batch_id)
    wait = requested_wait(request, state.settings.max_wait_s)
    if wait.seconds and len(batch.ended) < len(batch.items):
        await state.results.wait(batch_id, wait.seconds)
        batch = await _find_owned(state, caller, batch_id)
    answer = await batch_answer(state, batch, with_results=results == "all")
    retry = {} if answer.is_finished else {"Retry-After": str(RETRY_AFTER_S)}
    # results may leave the cache, so even a finished batch can change
    return await validated(request, answer.parts, Caching.REVALIDATED, retry | wait.headers)


@router.delete(
    "/{batch_id}",
    summary="Cancel the unfinished items of a batch",
    response_model=Batch,
    responses={202: {"model": Batch}},
)
async def delete_batch(request: Request, batch_id: str) -> Response:
    """Answer 202, or 200 when all items were over."""
    state = state_of(request)
    caller = await state.callers.identify(request, *SCOPES)
    batch = await _find_owned(state, caller, batch_id)
    cancelled = await cancel_batch(state, batch, caller)
    batch = await _find_owned(state, caller, batch_id)
    answer = await batch_answer(state, batch, with_results=False)
    return _response(answer, 202 if cancelled else 200, {})


@router.get(
    "/{batch_id}/events",
    summary="Stream the events item and finished",
    response_class=Response,
    responses=events_of("BatchEvent", item=ItemEvent, finished=BatchFinishedEvent),
    openapi_extra=RESUMED,
)
async def get_batch_events(request: Request, batch_id: str) -> StreamingResponse:
    """Stream events after `Last-Event-ID`: `item` with index and state, then `finished`."""
    state = state_of(request)
    caller = await state.callers.identify(request, *SCOPES)
    await _find_owned(state, caller, batch_id)
    return await event_stream(request, state, batch_id)


async def _submitted(state: ServiceState, caller: Caller, batch_id: str) -> str | None:
    batch = await state.batches.find(batch_id, caller.id)
    return batch_id if batch is not None and batch.is_submitted else None


async def _find_owned(state: ServiceState, caller: Caller, batch_id: str) -> StoredBatch:
    is_id = len(batch_id) <= MAX_ID_BYTES
    batch = await state.batches.find(batch_id, caller.id) if is_id else None
    if batch is None:
        raise ProblemRaised("not_found", f"You have no batch {batch_id[:100]}")
    return batch


def _response(answer: BatchAnswer, status: int, headers: Mapping[str, str]) -> Response:
    own = {} if answer.is_finished else {"Retry-After": str(RETRY_AFTER_S)}
    return parts_response(answer.parts, own | dict(headers), status)
