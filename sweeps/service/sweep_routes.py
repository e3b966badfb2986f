"""Sweeps: POST, GET, DELETE and their events. A sweep belongs to its caller.

An answer is the page of a sweep's table that the query asks for, as JSON or CSV.
"""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from compiler.derivation import DeriveJob, cancelled_derivation
from compiler.job import CompileJob
from service.caller import Caller, require
from service.compilations.answer import RETRY_AFTER_S, server_timing
from service.compilations.retrieval import cancelled_record
from service.file_digests import with_texts
from service.gather_limited import gather_limited
from service.http.answer_parts import AnswerRoom, parts_response
from service.http.body import read_body
from service.http.event_data import FinishedEvent, QueuedEvent, StartedEvent
from service.http.openapi import answer_of, body_of, events_of, examples_of, wait_parameter
from service.http.problems import ProblemRaised
from service.http.query import (
    ANY_QUERY,
    check_query,
    known_parameters,
    repeatable_parameters,
    requested_wait,
)
from service.http.validators import Caching, validated
from service.idempotency import HEADER, KeyedPost
from service.large_bodies import parsed
from service.lists.own_list import Collection, Summary, list_route, with_synonyms
from service.lists.summaries import Members, read_summary, summary_of
from service.routes.events import RESUMED, event_stream
from service.state import ServiceState, state_of
from store.byte_limits import MAX_ANSWER_BYTES, MAX_ID_BYTES, MAX_LIST_READ_BYTES
from store.jobs.types import Cancellation, Standing, interest_of_batch, kind_of
from store.stored import read_stored
from sweeps.row import SweepRow
from sweeps.service.find_sweep import FoundSweep, find_sweep
from sweeps.service.refused_work import refused_of
from sweeps.service.sweep_examples import CANCELLED, CSV, OVER, UNDER_WAY
from sweeps.service.sweep_submission import submit_sweep
from sweeps.stored_sweeps import Sweeps
from sweeps.sweep_job import sweep_url
from sweeps.sweep_kind import SWEEP
from sweeps.sweep_record import Sweep
from sweeps.sweep_request import (
    EXAMPLE,
    LAUNCH_SWEEP_EXAMPLE,
    TARGETS_EXAMPLE,
    SweepRequest,
    kind_of_base,
)
from sweeps.table import Page, TableQuery, WrongQuery, as_csv, check_states, page_of

_HEAD_BYTES = 64
"""For what surrounds the rows of an answer."""
SCOPE_OF_KIND = {"compilations": "compile", "launches": "launch"}
EXAMPLES = {
    "block sizes and warps": EXAMPLE,
    "one kernel, three targets": TARGETS_EXAMPLE,
    "launches": LAUNCH_SWEEP_EXAMPLE,
}
BY_AXIS: dict[str, Any] = ANY_QUERY | {
    "name": "axes",
    "description": "any axis by its name, such as `constexprs.BLOCK_SIZE=64`: rows with the value; "
    "of several values of one axis, any",
}

Sort = Annotated[
    str, Query(max_length=1000, description="columns, `-` before one for the largest first")
]
Offset = Annotated[int, Query(ge=0, description="rows that are left out before")]
Limit = Annotated[int | None, Query(ge=0, description="rows at most; default: all")]

router = APIRouter(prefix="/v1/sweeps", tags=["sweeps"])
_AT_ONCE = 16


async def _summaries(state: ServiceState, ids: Sequence[str]) -> list[Summary | None]:
    standings = await state.jobs.standings(ids, MAX_LIST_READ_BYTES)
    over = await state.store(Sweeps).rows_over(ids[: len(standings)])
    return [_summary(standing, counts) for standing, counts in zip(standings, over, strict=True)]


def _summary(standing: Standing, over: Mapping[str, int]) -> Summary | None:
    summary = summary_of(standing, lambda end: {"state": end["state"]}, _of_job)
    job = None if standing.payload is None else read_summary(_of_job, standing.payload)
    if summary is None or job is None:
        return None
    return {**job, **summary, "counts": {**job["counts"], **over}}


def _of_job(job: Members) -> Summary:
    plan = job["plan"]
    base = plan["base"]
    kernel = base.get("compilation", {}) if plan["kind"] == "launches" else base
    return {
        "kind": plan["kind"],
        "kernel": kernel.get("kernel"),
        "target": kernel.get("target"),
        "counts": {"total": len(plan["chosen"])},
    }


_SWEEPS = Collection("sweeps", _summaries)


@router.post(
    "",
    summary="One kernel, many variants, one table",
    responses=answer_of(Sweep, OVER) | answer_of(Sweep, UNDER_WAY, status=202),
    openapi_extra={
        "requestBody": body_of(SweepRequest, EXAMPLES),
        "parameters": [wait_parameter(), HEADER],
    },
)
async def post_sweep(
    request: Request, sort: Sort = "", offset: Offset = 0, limit: Limit = None
) -> Response:
    """Answer 200 with a sweep that is over, 202 with a running one; rows as the query asks.

    A variant that is not valid, or fails, is a row; the others go on.
    """
    started = time.perf_counter()
    state = state_of(request)
    caller = await state.callers.identify(request, *SCOPE_OF_KIND.values())
    wait = requested_wait(request, state.settings.max_wait_s)
    body = await read_body(request, state.settings.max_batch_bytes)
    filled = await with_texts(state, caller, body, state.settings.max_batch_bytes)
    posted = await parsed(state, filled, SweepRequest)
    kind = kind_of_base(posted.base)
    require(caller, SCOPE_OF_KIND[kind])
    submit = partial(submit_sweep, state, refused_of(request), posted, kind, caller, sort)
    keyed = KeyedPost.of(request, state, caller, body)
    sweep_id = await keyed.make(submit, partial(_living_or_over, state, caller))
    sweep = await awaited_sweep(state, caller, sweep_id, wait.seconds)
    headers = {"Location": sweep_url(sweep_id), "Server-Timing": server_timing(started)}
    if not sweep.is_finished:
        headers["Retry-After"] = str(RETRY_AFTER_S)
    return parts_response(
        await sweep_json(state, sweep, TableQuery(sort, {}, offset, limit)),
        headers | wait.headers,
        200 if sweep.is_finished else 202,
    )


list_route(router, _SWEEPS, SCOPE_OF_KIND.values(), "Answer your sweeps; GET one for its rows.")


@router.get(
    "/{sweep_id}",
    summary="A sweep, by id: rows filtered, sorted and paged",
    responses={
        200: {
            "model": Sweep,
            "content": examples_of(OVER | UNDER_WAY)
            | {"text/csv": {"schema": {"type": "string"}, "example": CSV}},
        },
    },
    openapi_extra={"parameters": [wait_parameter(), BY_AXIS]},
)
async def get_sweep(
    request: Request,
    sweep_id: str,
    sort: Sort = "",
    state: Annotated[
        list[str], Query(description="rows in one of these states; `completed` is `succeeded`")
    ] = [],  # noqa: B006
    verdict: Annotated[list[str], Query(description="rows with one of these verdicts")] = [],  # noqa: B006
    offset: Offset = 0,
    limit: Limit = None,
    format: Annotated[Literal["json", "csv"], Query(description="of the answer")] = "json",  # noqa: A002
) -> Response:
    """Answer 200 whatever the state."""
    shared = state_of(request)
    caller = await shared.callers.identify(request, *SCOPE_OF_KIND.values())
    wait = requested_wait(request, shared.settings.max_wait_s)
    sweep = await awaited_sweep(shared, caller, sweep_id, wait.seconds)
    named = {"state": [*with_synonyms(state)], "verdict": verdict}
    only = {name: values for name, values in named.items() if values} | _by_axis(request, sweep)
    _check(state)
    query = TableQuery(sort, only, offset, limit)
    caching = Caching.FINAL if sweep.is_finished else Caching.REVALIDATED
    if format == "csv":
        headers = {"Content-Disposition": f'attachment; filename="sweep-{sweep.job.id}.csv"'}
        table, media_type = await sweep_csv(shared, sweep, query), "text/csv; charset=utf-8"
        return await validated(request, table, caching, headers | wait.headers, media_type)
    return await validated(request, await sweep_json(shared, sweep, query), caching, wait.headers)


@router.delete(
    "/{sweep_id}",
    summary="Cancel what is left of a sweep",
    responses=answer_of(Sweep, OVER) | answer_of(Sweep, CANCELLED, status=202),
)
async def delete_sweep(request: Request, sweep_id: str) -> Response:
    """Answer 202, or 200 when all of it was over; the rows that are over stay."""
    state = state_of(request)
    caller = await state.callers.identify(request, *SCOPE_OF_KIND.values())
    await _check_owned(state, caller, sweep_id)
    cancelled = await _cancel_sweep(state, caller, sweep_id)
    sweep = await find_sweep(state, caller, sweep_id)
    body = await sweep_json(state, sweep, TableQuery(limit=0))
    return parts_response(body, {}, 202 if cancelled else 200)


@router.get(
    "/{sweep_id}/events",
    summary="queued, started, row and finished, as they happen",
    response_class=Response,
    responses=events_of(
        "SweepEvent", queued=QueuedEvent, started=StartedEvent, row=SweepRow, finished=FinishedEvent
    ),
    openapi_extra=RESUMED,
)
async def get_sweep_events(request: Request, sweep_id: str) -> StreamingResponse:
    """Stream the events later than `Last-Event-ID`: `row` with a row that is over, `finished`."""
    state = state_of(request)
    caller = await state.callers.identify(request, *SCOPE_OF_KIND.values())
    await _check_owned(state, caller, sweep_id)
    return await event_stream(request, state, sweep_id)


async def awaited_sweep(
    state: ServiceState, caller: Caller, sweep_id: str, wait_s: float
) -> FoundSweep:
    """Return the sweep as it is when it is over, or after `wait_s`. Raises ProblemRaised (404)."""
    await _check_owned(state, caller, sweep_id)
    if wait_s:
        await state.results.wait(sweep_id, wait_s)
    return await find_sweep(state, caller, sweep_id)


async def _living_or_over(state: ServiceState, caller: Caller, sweep_id: str) -> str | None:
    """Return the id of a sweep that is there, None where it was noted without its job."""
    is_there = await state.store(Sweeps).is_of(sweep_id, caller.id)
    return sweep_id if is_there and not await state.client.is_lost(sweep_id) else None


async def _check_owned(state: ServiceState, caller: Caller, sweep_id: str) -> None:
    is_id = len(sweep_id) <= MAX_ID_BYTES
    if not is_id or not await state.store(Sweeps).is_of(sweep_id, caller.id):
        raise ProblemRaised("not_found", f"You have no sweep {sweep_id[:100]}")


def _by_axis(request: Request, sweep: FoundSweep) -> dict[str, list[str]]:
    """Return the parameters that are axes. Raises ProblemRaised (422) for unknown ones."""
    axes = frozenset(axis.name for axis in sweep.plan.axes)
    query, route = request.scope["query_string"], request.scope["route"]
    known = known_parameters(route) - {"axes"} | axes
    check_query(query, known, repeatable_parameters(route) | axes)
    return {name: request.query_params.getlist(name) for name in axes & request.query_params.keys()}


def _check(states: list[str]) -> None:
    try:
        check_states(states)
    except WrongQuery as wrong:
        raise ProblemRaised("invalid_request", str(wrong), parameter=wrong.parameter) from None


async def _cancel_sweep(state: ServiceState, caller: Caller, sweep_id: str) -> bool:
    """Cancel what is left; False when all of it was over."""
    record = SWEEP.cancelled_record(sweep_id, b"")
    done = await state.jobs.cancel(sweep_id, caller.id, record, SWEEP.keep_s)
    waiting = (await state.store(Sweeps).rows(sweep_id)).waiting

    async def withdraw(job_id: str) -> None:
        await _withdraw(state, caller, sweep_id, job_id)

    await gather_limited(_AT_ONCE, sorted(set(waiting.values())), withdraw)
    return done is Cancellation.CANCELLED


async def _withdraw(state: ServiceState, caller: Caller, sweep_id: str, job_id: str) -> None:
    """End the sweep's interest in a job: of a launch it has all, what is built others may want."""
    lane, payload = await state.jobs.lane(job_id), await state.jobs.payload(job_id)
    if lane is None or payload is None:
        return  # it is over
    kind = kind_of(lane)
    owned = next((jobs for jobs in state.owned.values() if jobs.kind.name == kind), None)
    if owned is not None:
        await owned.cancel(state, caller, job_id)
        return
    match kind:
        case "compile":
            job = read_stored(CompileJob, payload)
            record = cancelled_record(job, await state.toolchains.find(job.toolchain_id))
        case "derive":
            derived = cancelled_derivation(read_stored(DeriveJob, payload))
            record = derived.model_dump_json().encode()
        case _:
            raise ValueError(f"no row of a sweep waits for what is in the lane of {kind}")
    await state.jobs.withdraw(job_id, interest_of_batch(sweep_id), record)


async def sweep_json(state: ServiceState, sweep: FoundSweep, query: TableQuery) -> Sequence[bytes]:
    """Return the sweep with the rows that are asked for and fit, in parts.

    Raises ProblemRaised (422).
    """
    return await state.threads.run(_json, sweep, query)


async def sweep_csv(state: ServiceState, sweep: FoundSweep, query: TableQuery) -> bytes:
    """Return the rows that are asked for as a table. Raises ProblemRaised: 422, or 413."""
    return await state.threads.run(_csv, sweep, query)


def _json(sweep: FoundSweep, query: TableQuery) -> Sequence[bytes]:
    page, rows = _page(sweep, query), sweep.rows
    pruned = Counter(row["pruned"]["reason"] for row in rows if row["pruned"])
    end: Mapping[str, Any] = sweep.end.model_dump(mode="json")
    axes = [{"name": axis.name, "values": axis.values} for axis in sweep.plan.axes]
    answer = {
        "id": sweep.job.id,
        "url": sweep_url(sweep.job.id),
        "state": sweep.end.state,
        "kind": sweep.plan.kind,
        "axes": axes,
        "counts": dict(Counter(row["state"] for row in rows)),
        "total": len(rows),
        "matched": page.matched,
        "winners": end["winners"],
        "search": end["search"],
        "budget_ended": end["budget_ended"],
        "pruned": dict(pruned),
        "assumptions": [asdict(item) for item in sweep.job.assumptions],
        "note": end["note"],
        "problem": end["problem"],
    }
    room, written = AnswerRoom(MAX_ANSWER_BYTES), list[bytes]()
    room.take(len(orjson.dumps(answer)) + _HEAD_BYTES)
    for row in page.rows:
        part = orjson.dumps(row)
        if not room.take(len(part) + 1):
            break
        written += [part, b","]
    count = len(written) // 2
    is_cut = count < len(page.rows)
    answer["next_offset"] = query.offset + count if is_cut else None
    return [orjson.dumps(answer)[:-1] + b',"rows":[', *written[:-1], b"]}"]


def _csv(sweep: FoundSweep, query: TableQuery) -> bytes:
    axes = [axis.name for axis in sweep.plan.axes]
    table = as_csv(_page(sweep, query).rows, axes).encode()
    if len(table) > MAX_ANSWER_BYTES:
        detail = (
            f"These rows have more than {MAX_ANSWER_BYTES} bytes as CSV; ask for fewer with "
            "`limit` and `offset`"
        )
        raise ProblemRaised("too_large", detail, limit=MAX_ANSWER_BYTES)
    return table


def _page(sweep: FoundSweep, query: TableQuery) -> Page:
    try:
        return page_of(sweep.rows, query, [axis.name for axis in sweep.plan.axes])
    except WrongQuery as wrong:
        raise ProblemRaised("invalid_request", str(wrong), parameter=wrong.parameter) from None
