"""The policy of a compile request, from the bytes of its body to its answer. Read this first.

`answer_request` tries the cheapest answer first: one that this process has sent before, then a
record whose key is known without reading the request, then a record under the key of the request,
and last a job. This module does not know how a job is done, and of HTTP only its vocabulary.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

from compiler.job import CompileJob
from compiler.labelled_digest import KEY_VERSION
from compiler.request import limits
from compiler.request.compile_request import CompileRequest
from compiler.request.resolution import resolve
from compiler.toolchain import Toolchain
from jobs.core_kinds import COMPILATION
from jobs.deadline import Deadline
from jobs.submission import IsGone, JobOrder, WaitingClient
from jobs.work_context import request_id
from service import VERSION
from service.caller import Caller
from service.compilations.answer import Answer, AnswerTooLarge, Cache, RenderedAnswer
from service.compilations.response_cache import request_digest
from service.compilations.retrieval import (
    answer_finished,
    answer_unfinished,
    cancelled_record,
    state_in,
)
from service.file_digests import keep_texts, with_texts
from service.http.body import parse_body
from service.large_bodies import IN_LOOP_BYTES
from service.state import ServiceState
from service.toolchains import ToolchainSet
from store.blobs import LIFE_S
from store.byte_limits import MAX_ANSWER_BYTES
from store.errors import BucketUnavailable, IncludedTooLarge
from store.jobs.types import Priority
from store.own_lists import Listing
from store.records import Hit

MAX_EVICTIONS = 3
LISTING = Listing("compilations", LIFE_S)
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CompilePost:
    """A POST of a compilation; `is_gone` returns True once its client has hung up."""

    body: bytes
    caller: Caller
    is_gone: IsGone


async def answer_request(state: ServiceState, post: CompilePost, wait_s: float) -> RenderedAnswer:
    """Return the answer to a POST. If it needs a job, wait for it for at most `wait_s`.

    Raises ProblemRaised and RequestRejected for an invalid request, QueueFull,
    CallerQueueFull, StoreUnavailable.
    """
    toolchains = await state.toolchains.current()
    digest = request_digest(post.caller.namespace, toolchains.digest, post.body)
    if cached := state.responses.get(digest):
        state.metrics.memory_hits += 1
        state.compilations.note_use(cached.key)
        state.lists.note(LISTING, post.caller.id, cached.key)
        logger.debug("job %s: hit in memory, for request %s", cached.key, request_id())
        return cached
    generation = state.invalidations.generation
    # join equal concurrent requests, but never across a refresh or purge
    equal, deadline = (digest, post.caller.id, generation), Deadline(wait_s)
    ask = partial(_find_or_compile, state, post, toolchains, digest, deadline)
    answer = await state.single_flight.share(equal, deadline, ask)
    rendered = answer.rendered
    is_lasting = answer.cache == "hit" and answer.state == "succeeded"
    if is_lasting and state.invalidations.is_unchanged_since(generation):
        state.responses.put(digest, rendered)
    if answer.cache == "hit":
        state.lists.note(LISTING, post.caller.id, answer.key)
    if answer.cache is not None:
        state.metrics.compilations.labels(answer.cache).inc()
    logger.debug("job %s: answered as %s, for request %s", answer.key, answer.state, request_id())
    return rendered


async def _find_or_compile(
    state: ServiceState,
    post: CompilePost,
    toolchains: ToolchainSet,
    digest: bytes,
    deadline: Deadline,
) -> Answer:
    """Return the answer that any service has stored for the bytes, else read the request."""
    name = f"{VERSION}:{KEY_VERSION}:{digest.hex()}"
    with _included_fits():
        hit = await state.compilations.hit_of_alias(name, limit_bytes=MAX_ANSWER_BYTES)
    if hit is not None:
        logger.debug("job %s: hit by the body's alias, for request %s", hit.key, request_id())
        return _answer_of(hit)
    body = await with_texts(state, post.caller, post.body, state.settings.max_body_bytes)
    post = replace(post, body=body)
    if len(post.body) <= IN_LOOP_BYTES:
        request, toolchain, job = _read(post, toolchains, state.settings.request_limits)
    else:
        request, toolchain, job = await state.threads.run(
            _read, post, toolchains, state.settings.request_limits
        )
    await keep_texts(state, post.caller, job.module, job.files)
    answer = await _find_or_enqueue(state, post, request, job, toolchain, deadline)
    if request.refresh:
        state.responses.forget(job.key)  # the notification may arrive after the answer
    elif answer.cache == "hit":
        state.compilations.note_alias(name, job.key, request.include)
    return answer


def _read(
    post: CompilePost, toolchains: ToolchainSet, most: limits.RequestLimits
) -> tuple[CompileRequest, Toolchain, CompileJob]:
    """Return the request with its toolchain and its job. Raises as `answer_request`."""
    request = parse_body(post.body, CompileRequest)
    limits.check(request, most)
    toolchain = toolchains.choose(request.triton)
    return request, toolchain, resolve(request, toolchain, post.caller.namespace)


async def _find_or_enqueue(
    state: ServiceState,
    post: CompilePost,
    request: CompileRequest,
    job: CompileJob,
    toolchain: Toolchain,
    deadline: Deadline,
) -> Answer:
    """Return the record under the key of `job`, else submit it and wait.

    If an artifact is evicted between the end of the job and the answer, or in a bucket that is
    away, the kernel is compiled again. After `MAX_EVICTIONS` the answer comes without artifacts.
    """
    ended = partial(cancelled_record, job, toolchain)
    client = WaitingClient(post.caller.id, ended, post.is_gone)
    order = JobOrder(
        COMPILATION,
        job,
        post.caller.id,
        Priority(request.priority),
        refresh=request.refresh,
        timeout_ms=int(request.timeout_s * 1000),
        listing=LISTING,
    )
    evictions = 0
    while True:
        if not order.refresh and (hit := await _hit(state, job.key, request.include)):
            logger.debug("job %s: hit by its key, for request %s", job.key, request_id())
            return _answer_of(hit)
        submit = partial(state.client.submit, order)
        submitted, record = await state.client.submit_and_wait(submit, deadline, client)
        cache: Cache = submitted.outcome.value
        if record is None:
            return await answer_unfinished(state, job, toolchain, cache)
        if submitted.is_older:
            continue  # other requests waited for that job; now compile again
        try:
            answer = await answer_finished(state, job.key, record, cache, request.include)
        except BucketUnavailable:
            answer = None  # what is compiled again stays in the cache until the bucket is back
        if answer is not None:
            return answer
        order, evictions = replace(order, refresh=True), evictions + 1
        state.metrics.evictions.inc()
        if evictions == MAX_EVICTIONS:
            state.metrics.direct_answers.inc()
            return Answer(job.key, state_in(record), record, cache)


async def _hit(state: ServiceState, key: str, include: Sequence[str]) -> Hit | None:
    with _included_fits():
        return await state.compilations.hit(key, include, limit_bytes=MAX_ANSWER_BYTES)


@contextmanager
def _included_fits() -> Iterator[None]:
    """Raise AnswerTooLarge where the store refuses to read what is to be included."""
    try:
        yield
    except IncludedTooLarge as error:
        raise AnswerTooLarge(error.size_bytes, error.limit_bytes) from None


def _answer_of(hit: Hit) -> Answer:
    return Answer(hit.key, "succeeded", hit.record, "hit", included=hit.included)
