"""A few of the cases of `tests.cost_fuzz`, and the generator itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from starlette.routing import Mount

from tests.cost_fuzz.__main__ import cases, untried
from tests.cost_fuzz.bars import Row
from tests.cost_fuzz.case import Case
from tests.cost_fuzz.generated import base_body
from tests.cost_fuzz.measuring import ProcessCost
from tests.cost_fuzz.operations import Operation, api_routes, operations
from tests.cost_fuzz.prepared import Prepared
from tests.cost_fuzz.running import Runner

PRODUCTS = (
    "proof: 60 constexprs x 8 cases",
    "launch: 100 cases x a large source",
    "launch: 4 cases x 65,000 values",
    "sweep: 60,000 axes",
    "compilation: an error of 60,000 characters",
)
DRAWN = 6
"""Generated cases, the same ones until an operation is added."""
SLOWER = 2.0
"""Four suites share two cores here. `tests.cost_fuzz` holds all cases to the bars themselves."""
COST = ProcessCost(cpu_ms=5, step_ms=0, step="", growth_bytes=0)
ROW = Row("a request", 202, "completed", 0, 1, 1000, 0, 1000, 5, COST, COST, 0, 0)


@pytest.fixture(scope="module")
def every() -> list[Case]:
    return cases(7)


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    runner = Runner(tmp_path_factory.mktemp("cost"), follow_s=10)
    yield runner
    runner.stop()


def test_some_requests_at_their_limits_are_within_all_bars(
    runner: Runner, every: list[Case]
) -> None:
    chosen = [case for case in every if case.name in PRODUCTS]

    assert len(chosen) == len(PRODUCTS)
    for case in chosen:
        assert runner.measure(case).violations(slower=SLOWER) == [], case.name


@pytest.mark.slow
@pytest.mark.parametrize("number", range(1, DRAWN + 1))
def test_generated_requests_are_within_all_bars(
    runner: Runner, every: list[Case], number: int
) -> None:
    case = every[-number]

    assert runner.measure(case).violations(slower=SLOWER) == [], case.name


def test_every_operation_has_a_case(every: list[Case]) -> None:
    assert untried(every) == []
    assert len(operations()) > 100


def test_an_operation_without_an_example_of_its_body_has_no_case() -> None:
    with pytest.raises(LookupError, match="/v1/new has no example"):
        base_body(Operation("POST", "/v1/new", {"type": "object"}, (), {}))


def test_a_path_with_a_new_parameter_has_no_case() -> None:
    with pytest.raises(LookupError, match="new parameter, colour"):
        Prepared("http://127.0.0.1:9").path(Operation("GET", "/v1/{colour}", None, (), {}))


def test_what_is_neither_a_route_nor_a_router_is_refused() -> None:
    with pytest.raises(TypeError, match="its cost is not tried"):
        list(api_routes([Mount("/new", routes=[])]))


def test_a_case_is_the_same_for_the_same_seed(every: list[Case]) -> None:
    assert [case.name for case in cases(7)] == [case.name for case in every]


def test_a_row_within_all_bars_misses_none() -> None:
    assert ROW.violations() == []


@pytest.mark.parametrize(
    ("row", "missed"),
    [
        (replace(ROW, cpu_ms=101), "service CPU 101 ms > 100 ms"),
        (replace(ROW, cpu_ms=401, items=1000), "service CPU 401 ms > 400 ms"),
        (
            replace(ROW, worker=replace(COST, step_ms=120, step="Task-1: f")),
            "worker step 120 ms > 100 ms (Task-1: f)",
        ),
        (replace(ROW, service=replace(COST, growth_bytes=65 << 20)), "service memory 65 > 64 MiB"),
        (replace(ROW, json_bytes=33 << 20), "answer 33 > 32 MiB"),
        (replace(ROW, largest_bytes=17 << 20), "record 17 > 16 MiB"),
        (replace(ROW, died="worker"), "the worker has ended"),
        (replace(ROW, status=0), "status 0"),
        (replace(ROW, status=500), "status 500"),
    ],
)
def test_a_row_beyond_a_bar_says_which(row: Row, missed: str) -> None:
    assert row.violations() == [missed]


def test_the_memory_of_a_large_body_may_grow_by_twenty_times_its_size() -> None:
    cost = replace(COST, growth_bytes=100 << 20)

    assert replace(ROW, body_bytes=6 << 20, service=cost).violations() == []
    assert replace(ROW, body_bytes=4 << 20, service=cost).violations() != []
