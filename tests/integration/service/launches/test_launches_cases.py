"""Cases: their changes, their common verdict, and cases that cannot run."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.integration.service.launches import bodies
from tests.integration.service.launches.bodies import output, uniform
from tests.integration.service.launches.conftest import Launch

WRONG = "def reference(x_ptr, y_ptr, **_):\n    return x_ptr - y_ptr\n"


def verdicts(answer: dict[str, Any]) -> list[str | None]:
    return [case["verdict"] for case in answer["cases"]]


def of_size(elements: int) -> dict[str, Any]:
    """Return a case of another size: buffers keep their other fields."""
    shape = {"shape": [elements]}
    names = ("x_ptr", "y_ptr", "output_ptr")
    return {"arguments": dict.fromkeys(names, shape) | {"n_elements": elements}}


def test_each_case_changes_what_it_says_and_keeps_the_rest(launch: Launch) -> None:
    cases = [{"name": "as it is"}, {"name": "odd size", **of_size(77)}]

    answer = launch(bodies.vector_add(64, cases=cases))

    assert [case["name"] for case in answer["cases"]] == ["as it is", "odd size"]
    assert [case["index"] for case in answer["cases"]] == [0, 1]
    shapes = [case["outputs"]["output_ptr"]["summary"]["shape"] for case in answer["cases"]]
    assert shapes == [[64], [77]]
    assert answer["cases"][0]["seeds"] == answer["cases"][1]["seeds"] == {"x_ptr": 1, "y_ptr": 2}


def test_with_cases_the_launch_has_the_worst_verdict_and_counts(launch: Launch) -> None:
    cases = [{}, {"reference": {"source": WRONG}}, {"grid": [1]}, {}]

    answer = launch(bodies.vector_add(64, cases=cases))

    assert verdicts(answer) == ["passed", "mismatch", "mismatch", "passed"]
    assert answer["verdict"] == "mismatch"
    assert answer["counts"] == {"passed": 2, "mismatch": 2}
    for name in ("outputs", "timing", "findings"):
        assert answer[name] is None


def test_a_case_has_every_documented_field(launch: Launch) -> None:
    [case] = launch(bodies.vector_add(64, cases=[{}]))["cases"]

    documented = {
        "index", "name", "verdict", "compilation_key", "outputs", "timing", "findings", "problem",
    }  # fmt: skip
    assert case.keys() >= documented
    assert (case["name"], case["compilation_key"], case["timing"]) == (None, None, None)


def test_a_case_that_cannot_run_has_a_problem_and_the_rest_goes_on(launch: Launch) -> None:
    no_digit = {"grid": ["cdiv(n_elements, BLOCK)"]}

    answer = launch(bodies.vector_add(64, cases=[{}, no_digit, {}]))

    assert verdicts(answer) == ["passed", None, "passed"]
    assert answer["cases"][1]["problem"]["slug"] == "invalid_argument"
    assert (answer["state"], answer["verdict"]) == ("completed", "not_checked")
    assert answer["counts"] == {"passed": 2, "failed": 1}


def test_when_no_case_can_run_the_launch_failed(launch: Launch) -> None:
    answer = launch(bodies.vector_add(64, grid=["cdiv(n_elements, BLOCK)"], cases=[{}, {}]))

    assert (answer["state"], answer["verdict"]) == ("failed", None)
    assert answer["problem"]["slug"] == "invalid_argument"


def test_no_case_begins_after_enough_failures(launch: Launch) -> None:
    wrong = {"reference": {"source": WRONG}}

    answer = launch(bodies.vector_add(cases=[wrong, {}, wrong, {}, wrong], stop_after_failures=2))

    assert verdicts(answer) == ["mismatch", "passed", "mismatch"]
    assert answer["counts"] == {"mismatch": 2, "passed": 1}


def test_a_case_replaces_arguments_grid_and_reference(launch: Launch) -> None:
    text = bodies.source("puzzles")
    twenty = {"reference": {"source": "def reference(x_ptr, **_):\n    return x_ptr + 10\n"}}
    case = {
        "arguments": {
            "x_ptr": uniform(64, dtype="fp16"), "z_ptr": output(64, dtype="fp16"), "N0": 64,
        },
        "grid": [2],
        **twenty,
    }  # fmt: skip
    arguments = {"x_ptr": uniform(32), "z_ptr": output(32), "N0": 32}

    answer = launch(
        bodies.launch(text, "add_ten_in_blocks", arguments, {"B0": 32}, cases=[{}, case])
    )

    assert verdicts(answer) == ["not_checked", "passed"]
    assert answer["cases"][1]["outputs"]["z_ptr"]["summary"]["dtype"] == "fp16"


def test_each_case_has_its_own_files_and_trace(launch: Launch, http: httpx.Client) -> None:
    body = bodies.vector_add(
        64, cases=[{}, of_size(40)], trace={"programs": [[0, 0, 0]]},
        **{"return": {"output_ptr": "tensor"}},
    )  # fmt: skip

    answer = launch(body)

    urls = [case["outputs"]["output_ptr"]["url"] for case in answer["cases"]]
    assert [len(http.get(url).content) for url in urls] == [128 + 4 * 64, 128 + 4 * 40]
    assert urls[1] == f"{answer['url']}/outputs/output_ptr?case=1"
    for number in (0, 1):
        traced = http.get(f"{answer['url']}/trace", params={"case": number}).json()
        assert [access["op"] for access in traced["accesses"]] == ["load", "load", "store"]


@pytest.mark.slow
def test_a_hundred_cases_are_done(launch: Launch) -> None:
    cases = [of_size(size) for size in range(1, 101)]

    answer = launch(bodies.vector_add(64, cases=cases))

    assert answer["counts"] == {"passed": 100}


def test_what_cases_print_is_together(launch: Launch) -> None:
    text = bodies.source("faulty")
    arguments = {"x_ptr": bodies.arange(2), "out_ptr": output(2)}
    cases = [{"arguments": {"x_ptr": {"init": {"kind": "full", "value": n}}}} for n in (41, 42)]

    answer = launch(bodies.launch(text, "prints", arguments, {"BLOCK": 2}, cases=cases))

    assert "41." in answer["stdout"]
    assert "42." in answer["stdout"]


def test_a_wrong_case_is_refused_at_its_own_place(http: httpx.Client) -> None:
    cases = [{}, {"arguments": {"x_ptr": {"shape": [4], "dtype": "fp33"}}}, {"grid": [0]}]

    answer = http.post("/v1/launches", json=bodies.vector_add(cases=cases))

    assert answer.status_code == 422
    pointers = {error["pointer"] for error in answer.json()["errors"]}
    assert pointers == {"/cases/1/arguments/x_ptr/dtype", "/cases/2/grid/0"}
