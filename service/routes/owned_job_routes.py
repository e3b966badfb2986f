"""The routes that all owned jobs have: post, list, read, cancel and follow one."""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, NamedTuple, TypeVar

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from jobs.deadline import Deadline
from jobs.kind import state_of_record
from jobs.work_context import request_id
from service.compilations.answer import RETRY_AFTER_S, server_timing
from service.file_digests import with_texts
from service.http.body import read_body
from service.http.openapi import answer_of, body_of, events_of, wait_parameter
from service.http.query import requested_wait
from service.http.validators import Caching, validated
from service.idempotency import HEADER, KeyedPost
from service.large_bodies import parsed
from service.lists.own_list import Collection, list_route
from service.owned_jobs import OVER_STATES, OwnedJobs
from service.routes.events import RESUMED, event_stream
from service.state import state_of
from store.jobs.types import Submitted, Waiting

SCOPE = "launch"
"""The scope that an API key needs for both."""
_Stored = TypeVar("_Stored")
logger = logging.getLogger(__name__)


class RouteText(NamedTuple):
    """The texts of a route in the OpenAPI document."""

    summary: str
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedRoutes:
    """The routes of one kind of owned jobs, as the OpenAPI document shows them."""

    record: type[BaseModel]
    requests: Mapping[str, Any]
    """Bodies by title; and so are the records below."""
    over: Mapping[str, Any] = field(default_factory=dict)
    unfinished: Mapping[str, Any] = field(default_factory=dict)
    cancelled: Mapping[str, Any] = field(default_factory=dict)
    events: Mapping[str, type[Any]]
    """The data of each event, by its name."""
    listed: Collection
    post: RouteText
    list_description: str
    get: RouteText
    delete: RouteText
    follow: RouteText

    def answers(
        self, examples: Mapping[str, Any], status: int = 200
    ) -> dict[int | str, dict[str, Any]]:
        """Return the `responses` of a route that answers a record."""
        if not examples:
            return {status: {"model": self.record}}
        return answer_of(self.record, dict(examples), status=status)


def add_owned_routes(router: APIRouter, jobs: OwnedJobs[_Stored], shown: OwnedRoutes) -> None:
    """Add the routes of `jobs`."""
    noun, over, unfinished = jobs.kind.noun, dict(shown.over), dict(shown.unfinished)
    job_id = Annotated[str, Path(alias=f"{noun}_id")]
    path = f"/{{{noun}_id}}"

    async def post(request: Request) -> Response:
        return await post_owned(request, jobs)

    async def get(request: Request, job_id: job_id) -> Response:
        return await get_owned(request, jobs, job_id)

    async def delete(request: Request, job_id: job_id) -> Response:
        return await delete_owned(request, jobs, job_id)

    async def follow(request: Request, job_id: job_id) -> StreamingResponse:
        return await stream_owned(request, jobs, job_id)

    waiting, body = wait_parameter(), body_of(jobs.request, dict(shown.requests))
    router.add_api_route(
        "",
        post,
        methods=["POST"],
        name=f"post_{noun}",
        **shown.post._asdict(),
        responses=shown.answers(over) | shown.answers(unfinished, 202),
        openapi_extra={"requestBody": body, "parameters": [waiting, HEADER]},
    )
    list_route(router, shown.listed, (jobs.scope,), shown.list_description)
    router.add_api_route(
        path,
        get,
        name=f"get_{noun}",
        **shown.get._asdict(),
        responses=shown.answers(over | unfinished),
        openapi_extra={"parameters": [waiting]},
    )
    router.add_api_route(
        path,
        delete,
        methods=["DELETE"],
        name=f"delete_{noun}",
        **shown.delete._asdict(),
        responses=shown.answers(over) | shown.answers(shown.cancelled, 202),
    )
    router.add_api_route(
        f"{path}/events",
        follow,
        name=f"get_{noun}_events",
        **shown.follow._asdict(),
        response_class=Response,
        responses=events_of(f"{noun.capitalize()}Event", **shown.events),
        openapi_extra=RESUMED,
    )


async def post_owned(request: Request, jobs: OwnedJobs[_Stored]) -> Response:
    """Answer 200 with a job that is over within the wait, else 202."""
    started = time.perf_counter()
    state = state_of(request)
    caller = await state.callers.identify(request, jobs.scope)
    wait = requested_wait(request, state.settings.max_wait_s)
    body = await read_body(request, state.settings.max_body_bytes)
    filled = await with_texts(state, caller, body, state.settings.max_body_bytes)
    posted = await parsed(state, filled, jobs.request)
    keyed = KeyedPost.of(request, state, caller, body)

    async def submit(*, waiting: Waiting | None) -> Submitted:
        async def queue(job_id: str) -> Submitted:
            submitted = await jobs.submit(state, posted, caller, job_id, waiting=waiting)
            if submitted.job_id != job_id:
                await keyed.name(submitted.job_id)
            return submitted

        return await keyed.make(queue, partial(jobs.joined, state, caller))

    submitted, record = await state.client.submit_and_wait(submit, Deadline(wait.seconds))
    if record is None:
        record = await jobs.read(state, submitted.job_id)
    state_now = state_of_record(record)
    logger.debug(
        "job %s: answered as %s, for request %s", submitted.job_id, state_now, request_id()
    )
    is_over = state_now in OVER_STATES
    headers = {"Location": jobs.url_of(submitted.job_id), "Server-Timing": server_timing(started)}
    if not is_over:
        headers["Retry-After"] = str(RETRY_AFTER_S)
    return _json(record, 200 if is_over else 202, headers | wait.headers)


async def get_owned(request: Request, jobs: OwnedJobs[_Stored], job_id: str) -> Response:
    """Answer 200 in every state, at the latest after the wait."""
    state = state_of(request)
    caller = await state.callers.identify(request, jobs.scope)
    await jobs.find_owned(state, caller, job_id)
    wait = requested_wait(request, state.settings.max_wait_s)
    # asked first: what is read of a job that was over by then never changes
    is_over = not await state.events.may_come(job_id)
    record = await jobs.wait_for(state, job_id, Deadline(wait.seconds))
    caching = Caching.FINAL if is_over else Caching.REVALIDATED
    return await validated(request, record, caching, wait.headers)


async def delete_owned(request: Request, jobs: OwnedJobs[_Stored], job_id: str) -> Response:
    """Answer 202, or 200 when it was over."""
    state = state_of(request)
    caller = await state.callers.identify(request, jobs.scope)
    await jobs.find_owned(state, caller, job_id)
    is_cancelled = await jobs.cancel(state, caller, job_id)
    return _json(await jobs.read(state, job_id), 202 if is_cancelled else 200, {})


async def stream_owned(
    request: Request, jobs: OwnedJobs[_Stored], job_id: str
) -> StreamingResponse:
    """Stream the events after `Last-Event-ID` until the job is over."""
    state = state_of(request)
    caller = await state.callers.identify(request, jobs.scope)
    await jobs.find_owned(state, caller, job_id)
    return await event_stream(request, state, job_id)


def _json(record: bytes, status: int, headers: dict[str, str]) -> Response:
    return Response(record, status_code=status, headers=headers, media_type="application/json")
