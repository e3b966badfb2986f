"""An answer of a sweep has the rows that fit."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from service.http.problems import ProblemRaised
from sweeps.service import sweep_routes
from sweeps.service.sweep_routes import sweep_csv, sweep_json
from sweeps.sweep_record import SweepEnd
from sweeps.table import TableQuery

ROW = {"values": {}, "state": "succeeded", "pruned": None, "reason": "x" * 200}
SWEEP: Any = SimpleNamespace(
    job=SimpleNamespace(id="5" * 32, assumptions=[]),
    end=SweepEnd(state="completed"),
    plan=SimpleNamespace(axes=[], kind="compilations"),
    rows=[{"index": index, **ROW} for index in range(100)],
)


async def run(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


STATE: Any = SimpleNamespace(threads=SimpleNamespace(run=run))


async def answer_of(**query: int) -> tuple[int, dict[str, Any]]:
    body = b"".join(await sweep_json(STATE, SWEEP, TableQuery(**query)))
    return len(body), orjson.loads(body)


async def test_rows_that_fit_are_all_there() -> None:
    _, answer = await answer_of()

    assert [row["index"] for row in answer["rows"]] == list(range(100))
    assert answer["next_offset"] is None
    assert (await answer_of(limit=0))[1]["next_offset"] is None


async def test_an_answer_ends_early_and_has_the_offset_of_the_next_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sweep_routes, "MAX_ANSWER_BYTES", 10_000)
    indices, offset = [], 0
    while offset is not None:
        size_bytes, answer = await answer_of(offset=offset)
        assert size_bytes <= 10_000
        assert answer["matched"] == 100
        indices += [row["index"] for row in answer["rows"]]
        offset = answer["next_offset"]

    assert indices == list(range(100))


async def test_a_table_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_routes, "MAX_ANSWER_BYTES", 10_000)

    with pytest.raises(ProblemRaised, match="ask for fewer with `limit`"):
        await sweep_csv(STATE, SWEEP, TableQuery())
    assert await sweep_csv(STATE, SWEEP, TableQuery(limit=10))
