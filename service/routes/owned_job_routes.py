"""Shared handlers of launches, programs and proofs: post, read, cancel and follow one."""

import logging
import time
from functools import partial
from typing import TypeVar

from fastapi import Request, Response
from fastapi.responses import StreamingResponse

from jobs.deadline import Deadline
from jobs.kind import state_of_record
from jobs.work_context import request_id
from service.compilations.answer import RETRY_AFTER_S, server_timing
from service.file_digests import with_texts
from service.http.body import read_body
from service.http.query import requested_wait
from service.http.validators import Caching, validated
from service.idempotency import KeyedPost
from service.large_bodies import parsed
from service.owned_jobs import OVER_STATES, OwnedJobs
from service.routes.events import event_stream
from service.state import state_of
from store.jobs.types import Submitted, Waiting

SCOPE = "launch"
"""The scope that an API key needs for both."""
_Stored = TypeVar("_Stored")
logger = logging.getLogger(__name__)


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
