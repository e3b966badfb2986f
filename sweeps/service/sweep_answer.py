"""A sweep as bytes of an answer: the page of its table that the query asks for, as JSON or CSV."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import orjson

from service.http.answer_parts import AnswerRoom
from service.http.problems import ProblemRaised
from service.state import ServiceState
from store.byte_limits import MAX_ANSWER_BYTES
from sweeps.service.find_sweep import FoundSweep
from sweeps.sweep_job import sweep_url
from sweeps.table import Page, TableQuery, WrongQuery, as_csv, page_of

_HEAD_BYTES = 64
"""For what surrounds the rows of an answer."""


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
