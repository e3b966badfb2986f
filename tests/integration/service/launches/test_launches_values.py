"""Values, files and traces of a launch, in the requested form and amount."""

from __future__ import annotations

import io
from typing import Any

import httpx
import numpy as np
import pytest

from tests.integration.service.launches import bodies
from tests.integration.service.launches.bodies import arange, copy, output, uniform
from tests.integration.service.launches.conftest import Launch


def test_values_are_answered_as_nested_lists(launch: Launch) -> None:
    shaped = {"x_ptr": arange(2, 4), "z_ptr": output(2, 4)}

    answer = launch(copy(arguments=shaped, **{"return": {"z_ptr": "values"}}))

    assert answer["outputs"]["z_ptr"]["values"] == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_what_was_expected_stands_beside_values_that_do_not_match(launch: Launch) -> None:
    shaped = {"x_ptr": arange(2, 4), "z_ptr": output(2, 4)}

    def copied(expected: str) -> dict[str, Any]:
        reference = {"source": f"def reference(x_ptr, **_):\n    return {expected}\n"}
        answer = launch(
            copy(arguments=shaped, reference=reference, **{"return": {"z_ptr": "values"}})
        )
        found: dict[str, Any] = answer["outputs"]["z_ptr"]
        return found

    assert copied("x_ptr")["expected"] is None
    assert copied("x_ptr + 1")["values"] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert copied("x_ptr + 1")["expected"] == [[1, 2, 3, 4], [5, 6, 7, 8]]


def test_values_that_json_cannot_say_are_strings(launch: Launch) -> None:
    values = ["NaN", "Infinity", "-Infinity", 1.5]
    x = {"shape": [4], "dtype": "fp32", "init": {"kind": "values", "values": values}}

    answer = launch(copy(4, arguments={"x_ptr": x}, **{"return": {"z_ptr": "values"}}))

    output_ = answer["outputs"]["z_ptr"]
    assert output_["values"] == values
    assert (output_["summary"]["nan"], output_["summary"]["inf"]) == (1, 2)
    assert output_["summary"]["max"] == 1.5


def test_integers_beyond_2_53_are_decimal_strings(launch: Launch) -> None:
    x = {"shape": [1], "dtype": "i64", "init": {"kind": "full", "value": "9007199254740993"}}

    answer = launch(copy(1, "i64", arguments={"x_ptr": x}, **{"return": {"z_ptr": "values"}}))

    assert answer["outputs"]["z_ptr"]["values"] == ["9007199254740993"]
    assert answer["outputs"]["z_ptr"]["summary"]["max"] == "9007199254740993"


def test_more_values_than_an_answer_should_hold_are_left_out(launch: Launch) -> None:
    names = [f"out{index}" for index in range(3)]
    store = "".join(f"    tl.store({name} + 1, 1.0)\n" for name in names)
    text = f"@triton.jit\ndef kernel({', '.join(names)}):\n{store}"
    arguments = {name: uniform(65_536, dtype="fp64", output=True) for name in names}

    answer = launch(bodies.written(text, arguments, **{"return": dict.fromkeys(names, "values")}))

    lengths = [len(answer["outputs"][name]["values"] or []) for name in names]
    assert lengths == [65_536, 65_536, 0]
    assert answer["outputs"]["out2"]["summary"]["shape"] == [65_536]


def test_what_is_not_wanted_is_not_answered(launch: Launch) -> None:
    returned = {"z_ptr": "none"}

    answer = launch(copy(reference="def reference(x_ptr, **_):\n    return x_ptr + 1",
                         **{"return": returned}))  # fmt: skip

    assert answer["outputs"]["z_ptr"]["summary"] is None
    assert answer["outputs"]["z_ptr"]["values"] is None
    assert answer["verdict"] == "mismatch"


@pytest.mark.parametrize(
    ("dtype", "bits"), [("fp32", "<f4"), ("i8", "|i1"), ("bf16", "<u2"), ("fp8e5", "|u1")]
)
def test_an_output_is_to_be_had_as_an_npy_file(
    http: httpx.Client, launch: Launch, dtype: str, bits: str
) -> None:
    answer = launch(copy(dtype=dtype, **{"return": {"z_ptr": "tensor"}}))
    url = answer["outputs"]["z_ptr"]["url"]

    file = http.get(url)
    array = np.load(io.BytesIO(file.content), allow_pickle=False)

    assert url == f"{answer['url']}/outputs/z_ptr"
    assert file.headers["content-type"] == "application/x-npy"
    assert (array.dtype.str, array.shape) == (bits, (8,))
    if dtype in {"fp32", "i8"}:
        assert array.tolist() == list(range(8))


@pytest.mark.parametrize(
    "path", ["outputs/z_ptr", "outputs/nothing", "trace", "outputs/z_ptr?case=7"]
)
def test_a_file_that_was_not_asked_for_is_404(
    http: httpx.Client, launch: Launch, path: str
) -> None:
    answer = http.get(f"{launch(copy())['url']}/{path}")

    assert (answer.status_code, answer.json()["slug"]) == (404, "not_found")


def test_a_trace_has_every_access_of_the_chosen_programs(
    http: httpx.Client, launch: Launch
) -> None:
    answer = launch(bodies.vector_add(40, trace={"programs": [[1, 0, 0]], "max_accesses": 10}))

    trace = http.get(f"{answer['url']}/trace").json()

    assert [(a["op"], a["argument"], a["line"]) for a in trace["accesses"]] == [
        ("load", "x_ptr", 9),
        ("load", "y_ptr", 10),
        ("store", "output_ptr", 11),
    ]
    first = trace["accesses"][0]
    assert first["program"] == [1, 0, 0]
    assert first["indices"][:9] == [[index] for index in range(32, 40)] + [None]
    assert first["mask"][:9] == [True] * 8 + [False]
    assert trace["truncated"] is False


def test_a_trace_is_cut_off_where_the_request_says(http: httpx.Client, launch: Launch) -> None:
    answer = launch(bodies.vector_add(40, trace={"programs": [[0, 0, 0]], "max_accesses": 2}))

    trace = http.get(f"{answer['url']}/trace").json()

    assert len(trace["accesses"]) == 2
    assert trace["truncated"] is True
