"""Arguments of every kind as a kernel on the interpreter sees them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.launches import bodies
from tests.integration.launches.bodies import arange, output, uniform, written
from tests.integration.launches.conftest import Launch

VALUES = {"return": {"out_ptr": "values"}}


def values(launch: Launch, code: str, arguments: dict[str, Any], **changes: Any) -> Any:
    """What `out_ptr` holds after the kernel that `code` defines."""
    body = written(code, arguments, **VALUES, **changes)
    answer = launch(body)
    assert answer["state"] == "completed", answer["problem"]
    assert answer["findings"] == []
    return answer["outputs"]["out_ptr"]["values"]


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
    body = written(COPY, {"x_ptr": x, "out_ptr": output(4)}, **VALUES,
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

    answer = launch(written(COPY, {"x_ptr": x, "out_ptr": output(4, dtype="bf16")}, **VALUES,
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
    body = written(STORE, {"out_ptr": output(1, dtype="i64"), "n": 100_000}, **VALUES)
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


def test_a_positional_signature_with_constants_is_understood(launch: Launch) -> None:
    body = bodies.vector_add(100)
    del body["compilation"]["constexprs"]
    body["compilation"]["signature"] = "*fp32:16, *fp32:16, *fp32:16, i32, 32"

    assert launch(body)["verdict"] == "passed"


@pytest.mark.parametrize(
    ("signature", "slug", "said"),
    [
        ("*fp32, *fp32, *fp32, i32:16, 32", "hint_violated", "n_elements"),
        ("*fp16, *fp32, *fp32, i32, 32", "invalid_argument", "x_ptr: must be of type *fp16"),
        ("*fp32, *fp32, *fp32, i32, 32, 7", "extra_argument", "6 entries"),
    ],
)
def test_a_positional_signature_that_arguments_break_is_the_launchs_problem(
    launch: Launch, signature: str, slug: str, said: str
) -> None:
    body = bodies.vector_add(100)
    del body["compilation"]["constexprs"]
    body["compilation"]["signature"] = signature

    answer = launch(body)

    assert (answer["state"], answer["verdict"]) == ("failed", None)
    assert answer["problem"]["slug"] == slug
    assert said in answer["problem"]["detail"]


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


def test_none_is_none_in_the_kernel(launch: Launch) -> None:
    code = """
@triton.jit
def kernel(x_ptr, out_ptr):
    if x_ptr is None:
        tl.store(out_ptr, 7.0)
    else:
        tl.store(out_ptr, tl.load(x_ptr))
"""
    assert values(launch, code, {"x_ptr": None, "out_ptr": output(1)}) == [7]
    assert values(launch, code, {"x_ptr": arange(1), "out_ptr": output(1)}) == [0]


def test_a_tuple_holds_buffers_numbers_and_none(launch: Launch) -> None:
    code = """
@triton.jit
def kernel(pair, out_ptr):
    x_ptr, n, nothing = pair
    tl.store(out_ptr, tl.load(x_ptr + 1) + n)
"""
    pair = {"tuple": [arange(2), 40, None]}

    assert values(launch, code, {"pair": pair, "out_ptr": output(1)}) == [41]


def test_an_output_in_a_tuple_is_called_by_its_place(launch: Launch) -> None:
    code = """
@triton.jit
def kernel(pair):
    tl.store(pair[1], tl.load(pair[0]) + 1)
"""
    reference = "def reference(pair):\n    return {'pair.1': pair[0] + 1}\n"
    body = written(code, {"pair": {"tuple": [arange(1), output(1)]}}, reference=reference)

    answer = launch(body)

    assert answer["verdict"] == "passed"
    assert answer["outputs"].keys() == {"pair.1"}


def test_a_view_aliases_the_memory_of_another_argument(launch: Launch) -> None:
    code = """
@triton.jit
def kernel(x_ptr, tail_ptr, out_ptr):
    tl.store(x_ptr + 3, 50.0)
    tl.store(out_ptr, tl.load(tail_ptr + 1))
"""
    arguments = {
        "x_ptr": arange(4, output=True),
        "tail_ptr": {"view": {"of": "x_ptr", "offset": 2, "shape": [2], "strides": [1]}},
        "out_ptr": output(1),
    }

    assert values(launch, code, arguments) == [50]


def test_an_output_with_contents_is_changed_in_place_and_given_to_the_reference(
    launch: Launch,
) -> None:
    body = bodies.launch(
        bodies.source("faulty"), "accumulates", {"out_ptr": arange(8, output=True)}, {"BLOCK": 8},
        reference="def reference(out_ptr, **_):\n    return out_ptr + 1\n",
    )  # fmt: skip

    assert launch(body)["verdict"] == "passed"


def test_strides_and_offset_count_elements(launch: Launch) -> None:
    code = """
@triton.jit
def kernel(x_ptr, stride, out_ptr):
    lanes = tl.arange(0, 4)
    tl.store(out_ptr + lanes, tl.load(x_ptr + lanes * stride))
"""
    x = arange(4, strides=[3], offset=5)

    assert values(launch, code, {"x_ptr": x, "stride": 3, "out_ptr": output(4)}) == [0, 1, 2, 3]


def test_a_transposed_output_is_answered_in_its_own_shape(launch: Launch) -> None:
    code = """
@triton.jit
def kernel(out_ptr):
    lanes = tl.arange(0, 8)
    tl.store(out_ptr + lanes, lanes)
"""
    out = {"shape": [2, 4], "strides": [1, 2], "dtype": "fp32", "output": True}

    assert values(launch, code, {"out_ptr": out}) == [[0, 2, 4, 6], [1, 3, 5, 7]]


def test_a_host_descriptor_loads_blocks_and_pads(launch: Launch) -> None:
    code = """
@triton.jit
def kernel(desc, out_ptr):
    block = desc.load([2, 0])
    lanes = tl.arange(0, 4)[:, None] * 4 + tl.arange(0, 4)[None, :]
    tl.store(out_ptr + lanes, block)
"""
    desc = {"descriptor": {"base": arange(4, 4), "block_shape": [4, 4], "padding": "zero"}}

    block = values(launch, code, {"desc": desc, "out_ptr": output(4, 4)})

    assert block == [[8, 9, 10, 11], [12, 13, 14, 15], [0] * 4, [0] * 4]


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


def test_a_finished_compilation_is_launched_by_its_key(launch: Launch, post: Any) -> None:
    compilation = bodies.vector_add(128)["compilation"]
    pointers = dict.fromkeys(("x_ptr", "y_ptr", "output_ptr"), "*fp32:16")
    compiled = post(compilation | {"signature": pointers | {"n_elements": "i32:16"}}).json()
    body = bodies.vector_add(128)
    del body["compilation"]

    answer = launch(body | {"compilation_key": compiled["key"]})

    assert compiled["state"] == "succeeded"
    assert answer["verdict"] == "passed"


def test_arguments_that_break_a_hint_of_a_compilation_are_refused(http: Any, post: Any) -> None:
    compilation = bodies.vector_add(128)["compilation"]
    pointers = dict.fromkeys(("x_ptr", "y_ptr", "output_ptr"), "*fp32:16")
    compiled = post(compilation | {"signature": pointers | {"n_elements": "i32:16"}}).json()
    body = bodies.vector_add(100) | {"compilation_key": compiled["key"]}
    del body["compilation"]

    answer = http.post("/v1/launches", json=body)

    assert (answer.status_code, answer.json()["slug"]) == (422, "hint_violated")
    assert answer.json()["errors"][0]["pointer"] == "/arguments/n_elements"


def hooked(**changes: Any) -> dict[str, Any]:
    """A vector add specialized by what a hook of Triton's JIT printed for 128 elements."""
    names = ["x_ptr", "y_ptr", "output_ptr", "n_elements", "BLOCK_SIZE"]
    data = {
        "name": "user.add_kernel",
        "signature": dict(zip(names, ["*fp32", "*fp32", "*fp32", "i32", "constexpr"], strict=True)),
        "constant_keys": [[4]],
        "constant_vals": [32],
        "attrs_keys": [[3]],
        "attrs_vals": [[["tt.divisibility", 16]]],
        "options": {"num_warps": 4},
    }
    body = bodies.vector_add(**changes)
    del body["compilation"]["constexprs"]
    body["compilation"]["specialization_data"] = data
    return body


def test_what_a_jit_hook_printed_is_a_specialization_too(launch: Launch) -> None:
    assert launch(hooked(elements=128))["verdict"] == "passed"


def test_what_a_jit_hook_printed_is_a_promise(http: Any) -> None:
    answer = http.post("/v1/launches", json=hooked(elements=100))

    assert (answer.status_code, answer.json()["slug"]) == (422, "hint_violated")
    assert "/arguments/n_elements: is 100, not a multiple of 16" in answer.json()["detail"]


def test_the_hints_of_a_signature_by_position_are_checked_once_the_source_is_read(
    launch: Launch,
) -> None:
    body = bodies.vector_add(100)
    del body["compilation"]["constexprs"]
    body["compilation"]["signature"] = "*fp32:16, *fp32:16, *fp32:16, i32:16, 32"

    problem = launch(body)["problem"]

    assert problem["slug"] == "hint_violated"
    assert "n_elements: is 100" in problem["detail"]


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
