"""Arguments of every kind, as a kernel on the CPU device sees them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.service.launches import bodies
from tests.integration.service.launches.bodies import arange, output, uniform, written
from tests.integration.service.launches.conftest import RETURNED, Launch, values

COPY = """
@triton.jit
def kernel(x_ptr, out_ptr):
    lanes = tl.arange(0, 4)
    tl.store(out_ptr + lanes, tl.load(x_ptr + lanes))
"""


@pytest.mark.parametrize(
    ("init", "expected"),
    [
        ({"kind": "zeros"}, [0, 0, 0, 0]),
        ({"kind": "ones"}, [1, 1, 1, 1]),
        ({"kind": "full", "value": 2.5}, [2.5] * 4),
        ({"kind": "arange", "start": 1, "step": -0.5}, [1, 0.5, 0, -0.5]),
        ({"kind": "values", "values": [3, 1, 2, 0]}, [3, 1, 2, 0]),
    ],
)
def test_what_an_initialiser_says_is_what_the_kernel_reads(
    launch: Launch, init: dict[str, Any], expected: list[float]
) -> None:
    x = {"shape": [4], "dtype": "fp32", "init": init}

    assert values(launch, COPY, {"x_ptr": x, "out_ptr": output(4)}) == expected


@pytest.mark.parametrize(
    ("init", "low", "high"),
    [
        ({"kind": "uniform", "seed": 1, "low": 2, "high": 3}, 2, 3),
        ({"kind": "normal", "seed": 1, "mean": 50, "std": 1}, 40, 60),
        ({"kind": "randint", "seed": 1, "low": 5, "high": 8}, 5, 7),
    ],
)
def test_random_numbers_are_from_their_range_and_equal_everywhere(
    launch: Launch, init: dict[str, Any], low: float, high: float
) -> None:
    x = {"shape": [4], "dtype": "fp32", "init": init}
    body = written(COPY, {"x_ptr": x, "out_ptr": output(4)}, **RETURNED,
                   reference="def reference(x_ptr):\n    return x_ptr")  # fmt: skip

    answer = launch(body)

    assert answer["verdict"] == "passed"
    assert all(low <= value <= high for value in answer["outputs"]["out_ptr"]["values"])


@pytest.mark.parametrize("dtype", ["bf16", "fp16", "fp8e4nv", "fp8e5", "i8", "u64", "fp64", "i1"])
def test_every_dtype_goes_through_a_kernel_unchanged(launch: Launch, dtype: str) -> None:
    init = {"kind": "values", "values": [0, 1, 1, 0]}
    x = {"shape": [4], "dtype": dtype, "init": init}

    copied = values(launch, COPY, {"x_ptr": x, "out_ptr": output(4, dtype=dtype)})

    assert copied == [0, 1, 1, 0]


def test_bf16_is_rounded_to_nearest_as_a_gpu_does(launch: Launch) -> None:
    x = {"shape": [4], "dtype": "fp32", "init": {"kind": "full", "value": 1.01171875}}
    reference = "def reference(x_ptr):\n    return x_ptr"

    answer = launch(written(COPY, {"x_ptr": x, "out_ptr": output(4, dtype="bf16")}, **RETURNED,
                            reference=reference))  # fmt: skip

    assert answer["outputs"]["out_ptr"]["values"] == [1.015625] * 4
    assert answer["outputs"]["out_ptr"]["comparison"]["rtol"] == 2e-2


STORE = """
@triton.jit
def kernel(out_ptr, n):
    tl.store(out_ptr, n * n)
"""
TYPED = STORE.replace(", n)", ", n: tl.int64)")


def test_an_integer_overflows_as_the_type_that_triton_gives_it(launch: Launch) -> None:
    arguments = {"out_ptr": output(1, dtype="i64"), "n": 100_000}

    assert values(launch, STORE, arguments) == [1_410_065_408]


def test_a_scalar_has_the_type_of_its_annotation(launch: Launch) -> None:
    arguments = {"out_ptr": output(1, dtype="i64"), "n": 100_000}

    assert values(launch, TYPED, arguments) == [10_000_000_000]


def test_a_scalar_has_the_type_of_the_signature(launch: Launch) -> None:
    body = written(STORE, {"out_ptr": output(1, dtype="i64"), "n": 100_000}, **RETURNED)
    body["compilation"]["signature"] = {"out_ptr": "*i64", "n": "i64"}

    assert launch(body)["outputs"]["out_ptr"]["values"] == [10_000_000_000]


def test_a_scalar_has_the_type_that_the_argument_says(launch: Launch) -> None:
    n = {"value": "100000", "dtype": "i64"}

    assert values(launch, STORE, {"out_ptr": output(1, dtype="i64"), "n": n}) == [10_000_000_000]


def test_a_64_bit_scalar_keeps_every_bit(launch: Launch) -> None:
    code = STORE.replace("n * n", "n")
    n = {"value": "9007199254740993", "dtype": "i64"}

    stored = values(launch, code, {"out_ptr": output(1, dtype="i64"), "n": n})

    assert stored == ["9007199254740993"]


def test_a_constexpr_may_be_given_among_the_arguments(launch: Launch) -> None:
    body = bodies.vector_add(100, constexprs=None, arguments={"BLOCK_SIZE": 32})

    assert launch(body)["verdict"] == "passed"


def test_defaults_of_parameters_are_used_in_the_kernel_the_grid_and_the_reference(
    launch: Launch,
) -> None:
    code = """
@triton.jit
def kernel(out_ptr, scale=3, BLOCK: tl.constexpr = 4):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + lanes, lanes * scale)
"""
    reference = """
import numpy

def reference(BLOCK, scale):
    assert BLOCK == 4
    return numpy.arange(8) * scale
"""
    body = written(code, {"out_ptr": output(8, dtype="i32")}, grid=["cdiv(8, BLOCK)"],
                   reference=reference)  # fmt: skip

    assert launch(body)["verdict"] == "passed"


@pytest.mark.parametrize(
    ("left_out", "slug"), [("y_ptr", "missing_argument"), ("n_elements", "missing_argument")]
)
def test_a_missing_argument_is_named(launch: Launch, left_out: str, slug: str) -> None:
    body = bodies.vector_add(100, grid=[4], reference=None)
    del body["arguments"][left_out]

    answer = launch(body)

    assert (answer["state"], answer["problem"]["slug"]) == ("failed", slug)
    assert answer["problem"]["parameter"] == left_out


def test_an_argument_that_the_kernel_lacks_is_named_with_what_was_meant(launch: Launch) -> None:
    body = bodies.vector_add(100, arguments={"n_element": 100})

    problem = launch(body)["problem"]

    assert problem["slug"] == "extra_argument"
    assert "Did you mean `n_elements`?" in problem["detail"]


def test_a_function_and_a_type_may_be_constexprs(launch: Launch) -> None:
    text = bodies.source("chosen")
    arguments = {"x_ptr": arange(32), "z_ptr": output(32), "n": 32}
    constexprs = {"N": 32, "FUNCTION": {"function": "square"}, "TYPE": {"dtype": "fp32"}}
    helpers = {"helpers.py": bodies.HEADER + "@triton.jit\ndef twice(x):\n    return 2 * x\n"}
    body = bodies.launch(text, "apply", arguments, constexprs,
                         reference="def reference(x_ptr, **_):\n    return 2 * x_ptr**2 + 3\n")  # fmt: skip  # noqa: E501
    body["compilation"]["files"] = helpers

    assert launch(body)["verdict"] == "passed"


@pytest.mark.parametrize(
    ("grid", "programs"),
    [
        (["cdiv(n, 4)"], 25),
        (["n // 50", "min(n, 3)"], 6),
        ([2, "next_power_of_2(3)", "max(1, n - 99)"], 8),
        (["NUM_SMS"], 1),
        (["n % 7 + 1"], 3),
    ],
)
def test_a_grid_is_an_expression_over_the_arguments(
    launch: Launch, grid: list[Any], programs: int
) -> None:
    code = """
@triton.jit
def kernel(out_ptr, n):
    tl.atomic_add(out_ptr, 1)
"""
    counter = {"shape": [1], "dtype": "i32", "init": {"kind": "zeros"}, "output": True}

    assert values(launch, code, {"out_ptr": counter, "n": 100}, grid=grid) == [programs]


def test_a_grid_that_only_the_source_shows_to_be_wrong_is_the_launchs_problem(
    launch: Launch,
) -> None:
    answer = launch(bodies.vector_add(100, grid=["cdiv(n_elements, BLOCK)"]))

    assert answer["problem"]["slug"] == "invalid_argument"
    assert "Did you mean `BLOCK_SIZE`?" in answer["problem"]["detail"]


def test_uniform_values_differ_by_argument_only_where_seeds_do(launch: Launch) -> None:
    code = """
@triton.jit
def kernel(x_ptr, y_ptr, out_ptr):
    lanes = tl.arange(0, 4)
    tl.store(out_ptr + lanes, tl.load(x_ptr + lanes) - tl.load(y_ptr + lanes))
"""
    same = {"x_ptr": uniform(4, seed=5), "y_ptr": uniform(4, seed=5), "out_ptr": output(4)}

    assert values(launch, code, same) == [0, 0, 0, 0]
    assert 0 not in values(launch, code, same | {"y_ptr": uniform(4, seed=6)})
