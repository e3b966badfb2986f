"""A kernel that loses precision needlessly gets a finding; no other does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.service.launches.conftest import Launch
from tests.integration.service.launches.precision_bodies import (
    DEEP,
    IMPRECISE,
    PRECISE,
    PRODUCT,
    SIDE,
    TEXT,
    product,
)


@pytest.mark.parametrize("name", IMPRECISE)
def test_less_precision_than_the_data_has_is_found(launch: Launch, name: str) -> None:
    body, cause, at = IMPRECISE[name]

    answer = launch(body)

    assert (answer["verdict"], len(answer["findings"])) == ("passed", 1), answer["findings"]
    [found] = answer["findings"]
    assert (found["kind"], found["argument"]) == (
        "precision_downgrade",
        next(iter(answer["outputs"])),
    )
    assert cause in found["message"]
    assert at.strip() in TEXT.splitlines()[found["line"] - 1]
    assert 0 < found["measure"]["error"] < 0.1
    assert 0 < found["measure"]["tolerance_used"] < 1


@pytest.mark.parametrize("name", PRECISE)
def test_a_kernel_that_is_as_good_as_its_data_has_no_finding(launch: Launch, name: str) -> None:
    answer = launch(PRECISE[name])

    assert (answer["verdict"], answer["findings"]) == ("passed", [])


def test_where_nothing_is_lost_nothing_is_said(launch: Launch) -> None:
    body = product("matmul", "fp32", "fp32", PRECISION="tf32")
    for name in ("a_ptr", "b_ptr"):
        body["arguments"][name]["init"] = {"kind": "randint", "seed": 1, "low": 0, "high": 64}

    answer = launch(body)

    assert (answer["verdict"], answer["findings"]) == ("passed", [])


def test_a_reference_that_is_no_better_shows_nothing(launch: Launch) -> None:
    body = product("matmul_adding_in_fp16", "fp16", "fp16")
    body["reference"]["source"] = PRODUCT.replace(
        "b_ptr.astype(numpy.float32)", "b_ptr.astype(numpy.float32)).astype(numpy.float16)"
    ).replace("return a_ptr", "return (a_ptr")

    answer = launch(body)

    assert (answer["verdict"], answer["findings"]) == ("passed", [])


def test_a_wrong_kernel_is_wrong_and_not_imprecise(launch: Launch) -> None:
    body = product("matmul", "fp32", "fp32", PRECISION="tf32")
    body["reference"] = {"source": PRODUCT.replace("return ", "return 0.9 * ")}

    answer = launch(body)

    assert (answer["verdict"], answer["findings"]) == ("mismatch", [])


def test_a_mismatch_that_is_a_loss_of_precision_says_so_once(launch: Launch) -> None:
    body = product("matmul", "fp32", "fp32", PRECISION="tf32")
    body["reference"] = {"source": PRODUCT}

    answer = launch(body)

    [found] = answer["findings"]
    comparison = answer["outputs"]["c_ptr"]["comparison"]
    assert answer["verdict"] == "mismatch"
    assert found["measure"]["tolerance_used"] > 1
    assert 'input_precision="ieee"' in found["message"]
    assert "precision_downgrade" in comparison["note"]
    assert "It would match with atol" in comparison["note"]


def test_each_case_is_measured_by_itself(launch: Launch) -> None:
    body = product("matmul", "fp32", "fp32", PRECISION="tf32")
    zeros = {"shape": [SIDE, DEEP], "dtype": "fp32", "init": {"kind": "zeros"}}
    body["cases"] = [{"name": "random"}, {"name": "zeros", "arguments": {"a_ptr": zeros}}]

    cases = launch(body)["cases"]

    assert [[one["kind"] for one in case["findings"]] for case in cases] == [
        ["precision_downgrade"], ["zeros_match"],
    ]  # fmt: skip


def test_another_kernel_is_a_reference_if_it_is_better(launch: Launch, http: Any) -> None:
    def key_of(precision: str) -> str:
        arguments = {"a_ptr": "*fp32:16", "b_ptr": "*fp32:16", "c_ptr": "*fp32:16", "K": "i32:16"}
        posted = {
            "source": TEXT, "kernel": "matmul", "target": "cuda:90", "stop_after": "ttir",
            "signature": arguments,
            "constexprs": {"SIDE": SIDE, "BLOCK": 32, "PRECISION": precision},
        }  # fmt: skip
        answer = http.post("/v1/compilations?wait=60", json=posted)
        assert answer.json()["state"] == "succeeded", answer.text
        return str(answer.json()["key"])

    kinds = {}
    for precision in ("ieee", "tf32"):
        body = product("matmul", "fp32", "fp32", PRECISION="tf32")
        body["compilation"]["constexprs"]["BLOCK"] = 64
        body["reference"] = {"compilation_key": key_of(precision), "rtol": 0.1, "atol": 0.5}
        kinds[precision] = [one["kind"] for one in launch(body)["findings"]]

    assert kinds == {"ieee": ["precision_downgrade"], "tf32": []}
