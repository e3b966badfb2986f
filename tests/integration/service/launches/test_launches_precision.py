"""A kernel that computes with less precision than it could is found out, and no other is."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.service.launches import bodies
from tests.integration.service.launches.bodies import output, source
from tests.integration.service.launches.conftest import Launch

TEXT = source("precision")
SIDE, DEEP = 32, 512
PRODUCT = """import numpy
def reference(a_ptr, b_ptr, **_):
    return a_ptr.astype(numpy.float32) @ b_ptr.astype(numpy.float32)
"""
SUMS = """import numpy
def reference(x_ptr, **_):
    return x_ptr.astype(numpy.float32).sum(axis=1, dtype=numpy.float64)
"""
NORM = """import numpy
def reference(x_ptr, **_):
    x = x_ptr.astype(numpy.float64)
    x -= x.mean(axis=1, keepdims=True)
    return x / numpy.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-5)
"""
ATTENTION = """import numpy
def reference(q_ptr, k_ptr, v_ptr, **_):
    q, k, v = (one.astype(numpy.float32) for one in (q_ptr, k_ptr, v_ptr))
    scores = q @ k.T * 0.125
    p = numpy.exp(scores - scores.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True) @ v
"""


def normal(*shape: int, dtype: str, **more: Any) -> dict[str, Any]:
    return {"shape": list(shape), "dtype": dtype, "init": {"kind": "normal", "seed": 7, **more}}


def loose(text: str) -> dict[str, Any]:
    """A reference that any rounding is within."""
    return {"source": text, "rtol": 0.1, "atol": 0.5}


def product(kernel: str, dtype: str, out: str, **constexprs: Any) -> dict[str, Any]:
    arguments = {
        "a_ptr": normal(SIDE, DEEP, dtype=dtype),
        "b_ptr": normal(DEEP, SIDE, dtype=dtype),
        "c_ptr": output(SIDE, SIDE, dtype=out),
        "K": DEEP,
    }
    known = {"SIDE": SIDE, "BLOCK": 32, **constexprs}
    return bodies.launch(TEXT, kernel, arguments, known, reference=loose(PRODUCT))


def sums(kernel: str, dtype: str, out: str = "fp32", block: int = 128) -> dict[str, Any]:
    arguments = {
        "x_ptr": bodies.uniform(16, 16384, dtype=dtype),
        "out_ptr": output(16, dtype=out),
        "COUNT": 16384,
    }
    known = {"BLOCK": block}
    return bodies.launch(TEXT, kernel, arguments, known, [16], reference=loose(SUMS))


def norm(dtype: str, out: str, statistics: str) -> dict[str, Any]:
    arguments = {
        "x_ptr": normal(16, 1024, dtype=dtype, mean=1, std=2),
        "y_ptr": output(16, 1024, dtype=out),
    }
    known = {"COUNT": 1024, "STATISTICS": {"dtype": statistics}}
    return bodies.launch(TEXT, "layer_norm", arguments, known, [16], reference=loose(NORM))


def attention(dtype: str, out: str) -> dict[str, Any]:
    arguments = {
        "q_ptr": normal(64, 64, dtype=dtype),
        "k_ptr": normal(256, 64, dtype=dtype),
        "v_ptr": normal(256, 64, dtype=dtype),
        "o_ptr": output(64, 64, dtype=out),
        "KEYS": 256,
    }
    return bodies.launch(TEXT, "attention", arguments, {"SIDE": 64}, reference=loose(ATTENTION))


FP16_DOT = "adds up in fp16", "out_dtype=tl.float16"
LOOP = "total += tl.load(x_ptr + row * COUNT + start + lanes)\n"
IMPRECISE: dict[str, tuple[dict[str, Any], str, str]] = {
    "TF32": (
        product("matmul", "fp32", "fp32", PRECISION="tf32"),
        "as TF32",
        "input_precision=PRECISION",
    ),
    "a dot in fp16": (product("matmul_adding_in_fp16", "fp16", "fp16"), *FP16_DOT),
    "a dot in fp16, stored in fp32": (product("matmul_adding_in_fp16", "fp16", "fp32"), *FP16_DOT),
    "a sum in bf16": (sums("total_in_own_type", "bf16"), "a loop adds up in bf16", LOOP),
    "a sum in fp16": (sums("total_in_own_type", "fp16"), "a loop adds up in fp16", LOOP),
    "a sum of many sums in bf16": (
        sums("total_in_own_type", "bf16", block=1024),
        "a loop adds up in bf16",
        LOOP,
    ),
    "statistics in fp16": (norm("fp32", "fp32", "fp16"), "fp16", "mean = "),
    "statistics in bf16": (norm("fp32", "fp32", "bf16"), "bf16", "mean = "),
    "attention in TF32": (attention("fp32", "fp32"), "as TF32", "scores = tl.dot"),
}


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


PRECISE: dict[str, dict[str, Any]] = {
    "products of fp32": product("matmul", "fp32", "fp32", PRECISION="ieee"),
    "three products of TF32": product("matmul", "fp32", "fp32", PRECISION="tf32x3"),
    "fp16 added up in fp32": product("matmul", "fp16", "fp32", PRECISION="tf32"),
    "fp16 added up in fp32, stored in fp16": product("matmul", "fp16", "fp16", PRECISION="tf32"),
    "bf16 added up in fp32, stored in bf16": product("matmul", "bf16", "bf16", PRECISION="tf32"),
    "fp16 summed in fp32": sums("total_in_fp32", "fp16", "fp16"),
    "bf16 summed in fp32": sums("total_in_fp32", "bf16", "bf16"),
    "statistics in fp32": norm("fp16", "fp16", "fp32"),
    "attention of fp16": attention("fp16", "fp16"),
    "attention of bf16": attention("bf16", "bf16"),
    "attention of fp16, stored in fp32": attention("fp16", "fp32"),
}


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
        ["precision_downgrade"], [],
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
