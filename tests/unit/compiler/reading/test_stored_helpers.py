"""Kernels that are written for the helpers of a source that defines nothing else."""

from __future__ import annotations

from typing import Any

from compiler.messages.orders import ReadOrder
from compiler.reading.read_source import read_source, with_kernel

HEAD = "import triton\nimport triton.language as tl\n\n"
RELU = f"{HEAD}@triton.jit\ndef relu(x, size: tl.constexpr = 4):\n    return tl.maximum(x, 0.0)"


def kernels_of(text: str) -> dict[str, Any]:
    facts = read_source(ReadOrder(inspect=True), text.encode()).facts
    return {kernel["name"]: kernel for kernel in facts["kernels"] + facts["written"]}


def types_of(kernel: dict[str, Any]) -> dict[str, str]:
    return {p["name"]: p["proposal"]["type"] for p in kernel["parameters"]}


def test_a_helper_alone_gets_a_kernel_that_loads_and_stores() -> None:
    found = kernels_of(RELU)

    kernel = found["relu_stored"]
    types = {"x_ptr": "*fp32", "out_ptr": "*fp32", "n_elements": "i32", "BLOCK_SIZE": "constexpr"}
    assert types_of(kernel) == types
    assert (kernel["line"], kernel["calls"]) == (5, ["relu"])
    assert kernel["warnings"][0].startswith("relu_stored is not in the source")
    assert (found["relu"]["returns"], kernel["returns"]) == (True, False)


def test_a_source_with_a_kernel_of_its_own_gets_none() -> None:
    kernel = "\n\n@triton.jit\ndef k(x_ptr):\n    tl.store(x_ptr, 1.0)\n"

    assert list(kernels_of(RELU + kernel)) == ["relu", "k"]


def test_integers_bounds_pointers_and_results_are_passed_as_the_helper_takes_them() -> None:
    helper = (
        "@triton.jit\ndef mixed(x, at, n, limit, *, out):\n    for i in range(n):\n"
        "        x = x ^ tl.load(at + i)\n    if limit > 0:\n        x = ~x\n"
        "    return x, out * 0.5\n"
    )

    kernel = kernels_of(HEAD + helper)["mixed_stored"]

    assert types_of(kernel) == {
        "x_ptr": "*i32", "at": "*i32", "n": "i32", "limit": "i32", "out_ptr": "*fp32",
        "out0_ptr": "*fp32", "out1_ptr": "*fp32", "n_elements": "i32", "BLOCK_SIZE": "constexpr",
    }  # fmt: skip


def test_a_request_may_name_the_kernel_of_a_helper() -> None:
    report = read_source(ReadOrder(kernel="relu_stored"), RELU.encode())

    assert report.kernel == "relu_stored"
    assert report.facts["kernels"][-1]["certain"]


def test_a_function_of_the_source_with_the_name_stays() -> None:
    own = f"{RELU}\n\n@triton.jit\ndef relu_stored(x_ptr):\n    tl.store(x_ptr, relu(1.0))\n"

    assert with_kernel(own, "relu_stored") == (own, None)
