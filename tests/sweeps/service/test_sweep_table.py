"""Reading a sweep: its page, its CSV, its events, and its owner."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.integration.service import bodies
from tests.integration.service.test_api_events import events_of
from tests.sweeps.service.test_sweeps import SWEEPS, base, post_sweep

QUICK = {"stop_after": "ttir"}


@pytest.fixture(scope="module")
def sweep(http: httpx.Client) -> dict[str, Any]:
    """Three variants that compile, one invalid request, and one that fails."""
    space = [
        {"constexprs": {"BLOCK_SIZE": 64}, "options": {"num_warps": 2}},
        {"constexprs": {"BLOCK_SIZE": 128}, "options": {"num_warps": 3}},
        {"constexprs": {"BLOCK_SIZE": 100}, "target": "cuda:80"},
        {"constexprs": {"BLOCK_SIZE": 256}, "target": "hip:gfx942"},
        {"constexprs": {"BLOCK_SIZE": 512}},
    ]
    answer = post_sweep(http, base=base("asked about"), space=space)
    assert answer.status_code == 200, answer.text
    return answer.json()


def get(http: httpx.Client, sweep: dict[str, Any], **query: Any) -> httpx.Response:
    return http.get(sweep["url"], params=query)


def indices(answer: httpx.Response) -> list[int]:
    assert answer.status_code == 200, answer.text
    return [row["index"] for row in answer.json()["rows"]]


def test_a_variant_that_is_not_valid_or_fails_is_a_row(sweep: dict[str, Any]) -> None:
    states = [row["state"] for row in sweep["rows"]]
    refused, failed = sweep["rows"][1]["problem"], sweep["rows"][2]["problem"]

    assert states == ["succeeded", "refused", "failed", "succeeded", "succeeded"]
    assert [error["pointer"] for error in refused["errors"]] == ["/options/num_warps"]
    assert (refused["slug"], failed["slug"]) == ("invalid_request", "compile_error")
    assert sweep["state"] == "completed"
    assert sweep["counts"] == {"succeeded": 3, "refused": 1, "failed": 1}


def test_rows_are_sorted_filtered_and_paged_by_the_query(
    sweep: dict[str, Any], http: httpx.Client
) -> None:
    assert indices(get(http, sweep, sort="-constexprs.BLOCK_SIZE", limit=2)) == [4, 3]
    assert indices(get(http, sweep, sort="-constexprs.BLOCK_SIZE", offset=2)) == [1, 2, 0]
    assert indices(get(http, sweep, state=["failed", "refused"])) == [1, 2]
    assert indices(get(http, sweep, target="hip:gfx942")) == [3]
    page = get(http, sweep, state="completed", limit=1).json()
    assert (len(page["rows"]), page["matched"], page["total"]) == (1, 3, 5)


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ({"sort": "registrs"}, "sort"),
        ({"state": "suceeded"}, "state"),
        ({"constexprs.BLOCK": "64"}, "constexprs.BLOCK"),
        ({"limit": "-1"}, "limit"),
        ({"format": "parquet"}, "format"),
        ({"wait": "soon"}, "wait"),
    ],
)
def test_a_query_that_asks_for_nothing_there_is_refused(
    sweep: dict[str, Any], http: httpx.Client, query: dict[str, str], parameter: str
) -> None:
    answer = get(http, sweep, **query)

    assert (answer.status_code, answer.json()["parameter"]) == (422, parameter)


def test_a_column_that_is_none_is_refused_before_anything_is_swept(http: httpx.Client) -> None:
    body = {"base": base("not sorted"), "space": {"constexprs.BLOCK_SIZE": [64]}}

    answer = http.post(SWEEPS, params={"sort": "registrs"}, json=body)

    assert (answer.status_code, answer.json()["parameter"]) == (422, "sort")
    assert "Did you mean `registers`?" in answer.json()["detail"]
    assert "location" not in answer.headers


def test_what_is_posted_is_answered_as_the_query_asks(
    sweep: dict[str, Any], http: httpx.Client
) -> None:
    body = {"base": base("asked about"), "space": {"constexprs.BLOCK_SIZE": [64, 256]}}
    query = {"wait": 60, "sort": "-constexprs.BLOCK_SIZE", "limit": 1}

    answer = http.post(SWEEPS, params=query, json=body)

    assert indices(answer) == [1]
    assert (answer.json()["matched"], answer.json()["total"]) == (2, 2)


def test_the_table_as_csv(sweep: dict[str, Any], http: httpx.Client) -> None:
    answer = get(http, sweep, format="csv", state="succeeded")

    table = list(csv.DictReader(io.StringIO(answer.text)))
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert [row["constexprs.BLOCK_SIZE"] for row in table] == ["64", "256", "512"]
    assert [int(row["registers"]) for row in table] == [
        row["registers"] for row in sweep["rows"] if row["state"] == "succeeded"
    ]


def test_each_row_is_an_event_and_events_are_taken_up_again(
    sweep: dict[str, Any], http: httpx.Client
) -> None:
    events = events_of(http, sweep["url"])
    later = events_of(http, sweep["url"], after=events[3].id)

    kinds = [event.kind for event in events]
    assert kinds == ["queued", "started", *["row"] * 5, "finished"]
    rows = sorted((e.data for e in events if e.kind == "row"), key=lambda row: row["index"])
    assert rows == sweep["rows"]
    assert later == events[4:]


def test_a_sweep_is_its_callers(teams: Callable[[str], httpx.Client]) -> None:
    alice, bob = teams("alice"), teams("bob")
    space = {"constexprs.BLOCK_SIZE": [64]}
    made = post_sweep(alice, base=base("of alice", **QUICK), space=space).json()

    for ask in (bob.get, bob.delete):
        answer = ask(made["url"])
        assert (answer.status_code, answer.json()["slug"]) == (404, "not_found")
    assert bob.get(f"{made['url']}/events").status_code == 404
    assert alice.get(made["url"]).json()["state"] == "completed"


def test_a_key_sweeps_what_its_scopes_allow(teams: Callable[[str], httpx.Client]) -> None:
    launch = {"compilation": {"source": "x"}, "grid": [1], "device": "cpu"}

    answer = post_sweep(teams("alice"), base=launch, space={"constexprs.B": [1]})

    assert (answer.status_code, answer.json()["slug"]) == (403, "forbidden")


def test_a_sweep_that_there_is_not_is_not_found(http: httpx.Client) -> None:
    assert http.get(f"{SWEEPS}/0123").status_code == 404


def test_what_is_wrong_with_every_variant_is_said_of_the_base(http: httpx.Client) -> None:
    space = {"constexprs.BLOCK_SIZE": [64]}
    wrong = bodies.vector_add("wrong", options={"num_wraps": 4}, target="cuda:1")

    answer = post_sweep(http, base=wrong, space=space)

    assert answer.status_code == 422
    assert {error["pointer"] for error in answer.json()["errors"]} == {
        "/base/target",
    }


@pytest.mark.parametrize(
    ("axis", "pointer"),
    [
        ({"target": ["cuda:90", "cuda:1"]}, "/space/target/1"),
        ({"triton": ["1.0.0"]}, "/space/triton/0"),
        ({"options": {"num_warps": [4], "num_wraps": [4]}}, "/space/options/num_wraps"),
        ({"options.num_wraps": [4]}, "/space/options.num_wraps"),
    ],
)
def test_what_no_compiler_here_knows_is_refused_where_it_stands(
    http: httpx.Client, axis: dict[str, Any], pointer: str
) -> None:
    answer = post_sweep(http, base=base("nowhere"), space=axis)

    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


def test_a_source_of_an_axis_is_measured_like_that_of_a_base(http: httpx.Client) -> None:
    answer = post_sweep(
        http, base=base("large"), space={"source": {"large": "#" * (1 << 20) + "#", "small": "#"}}
    )

    assert (answer.status_code, answer.json()["slug"]) == (413, "too_large")
    assert [error["pointer"] for error in answer.json()["errors"]] == ["/space/source/large"]
