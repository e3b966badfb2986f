"""A sweep as bytes of an answer: the page of its table that the query asks for, as JSON or CSV."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import orjson

from service.http.problems import ProblemRaised
from service.state import ServiceState
from sweeps.service.find_sweep import FoundSweep
from sweeps.sweep_job import sweep_url
from sweeps.table import Page, TableQuery, WrongQuery, as_csv, page_of


async def sweep_json(state: ServiceState, sweep: FoundSweep, query: TableQuery) -> bytes:
    """Return the sweep with the rows that are asked for. Raises ProblemRaised (422)."""
    return await state.threads.run(_json, sweep, query)


async def sweep_csv(state: ServiceState, sweep: FoundSweep, query: TableQuery) -> bytes:
    """Return the rows that are asked for as a table. Raises ProblemRaised (422)."""
    return await state.threads.run(_csv, sweep, query)


def _json(sweep: FoundSweep, query: TableQuery) -> bytes:
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
        "rows": page.rows,
        "winners": end["winners"],
        "search": end["search"],
        "budget_ended": end["budget_ended"],
        "pruned": dict(pruned),
        "assumptions": [asdict(item) for item in sweep.job.assumptions],
        "note": end["note"],
        "problem": end["problem"],
    }
    return orjson.dumps(answer)


def _csv(sweep: FoundSweep, query: TableQuery) -> bytes:
    axes = [axis.name for axis in sweep.plan.axes]
    return as_csv(_page(sweep, query).rows, axes).encode()


def _page(sweep: FoundSweep, query: TableQuery) -> Page:
    try:
        return page_of(sweep.rows, query, [axis.name for axis in sweep.plan.axes])
    except WrongQuery as wrong:
        raise ProblemRaised("invalid_request", str(wrong), parameter=wrong.parameter) from None
