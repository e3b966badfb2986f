"""Bound arguments from a request: shapes, addresses, limits."""

from typing import Any

import pytest

from launch.request.argument_binding import bind_arguments
from launch.request.bound_arguments import BoundArguments
from tests.unit.launch.request.launch_of_add import errors

ZEROS = {"kind": "zeros"}


def bound(**arguments: Any) -> BoundArguments:
    return bind_arguments(arguments)


def buffer(shape: list[int], dtype: str = "fp32", **fields: Any) -> dict[str, Any]:
    return {"shape": shape, "dtype": dtype, "init": ZEROS, **fields}


def test_a_buffer_is_an_allocation_and_a_pointer_into_it():
    assert bound(x=buffer([4, 8], "torch.float16")).model_dump(mode="json") == {
        "allocations": [
            {
                "name": "x",
                "dtype": "fp16",
                "elements": 32,
                "align_bytes": 16,
                "init": {"kind": "zeros"},
                "output": False,
                "body": None,
            }
        ],
        "arguments": {
            "x": {
                "kind": "buffer",
                "allocation": 0,
                "shape": [4, 8],
                "strides": [8, 1],
                "offset": 0,
                "dtype": "fp16",
                "output": False,
            }
        },
    }


def test_bound_arguments_are_read_back_from_their_json():
    pair = {"tuple": [buffer([2]), 1, None]}
    descriptor = {"descriptor": {"base": buffer([64, 64]), "block_shape": [32, 32]}}
    made = bound(pair=pair, desc=descriptor, n=5, flag=True)

    assert BoundArguments.model_validate_json(made.model_dump_json()) == made


def test_an_output_without_init_is_poisoned():
    [allocation] = bound(out={"shape": [4], "dtype": "fp32", "output": True}).allocations

    assert allocation.init is None
    assert allocation.output


def test_an_output_with_init_is_in_place():
    [allocation] = bound(out=buffer([4], output=True)).allocations

    assert allocation.init == ZEROS
    assert allocation.output


EXTENTS: dict[str, tuple[dict[str, Any], int]] = {
    "no dimensions": (buffer([]), 1),
    "no elements": (buffer([4, 0]), 0),
    "offset": (buffer([4], offset=3), 7),
    "no elements at an offset": (buffer([0], offset=3), 3),
    "padded rows": (buffer([4, 8], strides=[10, 1]), 38),
    "columns first": (buffer([4, 8], strides=[1, 4]), 32),
    "backwards": (buffer([4], strides=[-1], offset=3), 4),
    "a stride that is never taken": (buffer([1, 4], strides=[2**60, 1]), 4),
}


@pytest.mark.parametrize("name", EXTENTS)
def test_an_allocation_spans_all_that_its_buffer_reaches(name: str):
    written, elements = EXTENTS[name]

    assert bound(x=written).allocations[0].elements == elements


def test_a_view_looks_at_the_memory_of_another_argument():
    made = bound(x=buffer([8], offset=2), row={"view": {"of": "x", "offset": 4, "shape": [2, 2]}})

    assert len(made.allocations) == 1
    row = made.arguments["row"]
    assert (row.allocation, row.shape, row.strides, row.offset) == (0, [2, 2], [2, 1], 6)


def test_a_view_without_a_shape_is_the_same_again():
    made = bound(again={"view": {"of": "x"}}, x=buffer([2, 3], strides=[1, 2]))

    assert made.arguments["again"] == made.arguments["x"]


def test_a_view_may_repeat_elements():
    view = {"of": "pair.0", "shape": [5, 3], "strides": [0, 1]}
    made = bound(pair=[buffer([3])], rows={"view": view})

    assert made.arguments["rows"].strides == [0, 1]


def test_a_view_of_an_output_is_compared_once_under_the_name_of_the_output():
    made = bound(out=buffer([4], output=True), again={"view": {"of": "out"}})

    assert list(made.outputs) == ["out"]


def test_outputs_in_tuples_and_descriptors_have_names():
    base = buffer([64, 64], output=True)
    descriptor = {"descriptor": {"base": base, "block_shape": [32, 32]}}

    assert list(bound(pair=[1, buffer([4], output=True)], d=descriptor).outputs) == ["pair.1", "d"]


SCALARS: dict[str, tuple[Any, Any, str]] = {
    "int": (7, {"int": "7"}, "i32"),
    "largest i32": (2**31 - 1, {"int": "2147483647"}, "i32"),
    "beyond i32": (2**31, {"int": "2147483648"}, "i64"),
    "beyond i64": (2**63, {"int": "9223372036854775808"}, "u64"),
    "float": (0.5, {"float": "0x1.0000000000000p-1"}, "fp32"),
    "bool": (True, True, "u1"),
    "tagged int": ({"int": "7"}, {"int": "7"}, "i32"),
    "infinity": ({"float": "-inf"}, {"float": "-inf"}, "fp32"),
    "text with a dtype": (
        {"value": "9007199254740993", "dtype": "int64"},
        {"int": "9007199254740993"},
        "i64",
    ),
    "NaN with a dtype": ({"value": "NaN", "dtype": "fp16"}, {"float": "nan"}, "fp16"),
    "integer for a float": (
        {"value": 2, "dtype": "fp64"},
        {"float": "0x1.0000000000000p+1"},
        "fp64",
    ),
    "boolean as 1": ({"value": 1, "dtype": "bool"}, True, "i1"),
    "value alone": ({"value": 3}, {"int": "3"}, "i32"),
}


@pytest.mark.parametrize("name", SCALARS)
def test_scalars_have_a_value_and_a_dtype(name: str):
    written, value, dtype = SCALARS[name]
    scalar = bound(n=written).arguments["n"]

    assert (scalar.value, scalar.dtype) == (value, dtype)
    assert scalar.dtype_given == (isinstance(written, dict) and "dtype" in written)


def test_null_is_no_value():
    assert bound(n=None).arguments["n"].kind == "none"


ALIGNED: dict[str, tuple[dict[str, Any], bool]] = {
    "as ever": (buffer([4]), True),
    "half of it": (buffer([4], align_bytes=8), False),
    "more": (buffer([4], align_bytes=256), True),
    "offset of 16 bytes": (buffer([4], offset=4), True),
    "offset of 4 bytes": (buffer([4], offset=1), False),
    "offset of 16 one-byte elements": (buffer([4], "i8", offset=16), True),
}


@pytest.mark.parametrize("name", ALIGNED)
def test_an_address_is_divisible_by_16_only_when_base_and_offset_are(name: str):
    written, divisible = ALIGNED[name]
    made = bound(x=written)

    assert made.is_divisible_by_16(made.arguments["x"]) is divisible


STRIDES = "a buffer without strides, and the argument as"
REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "neither init nor output": ({"x": {"shape": [1], "dtype": "fp32"}}, "/x", "give it an `init`"),
    "no shape": ({"x": {"dtype": "fp32", "output": True}}, "/x/shape", "this field is needed"),
    "unknown dtype": ({"x": buffer([1], "fp31")}, "/x/dtype", "Did you mean `fp32`?"),
    "dtype without a host type": (
        {"x": buffer([1], "fp8e4b15")},
        "/x/dtype",
        "a buffer cannot have",
    ),
    "negative extent": ({"x": buffer([-1])}, "/x/shape/0", "greater than or equal to 0"),
    "shape of floats": ({"x": buffer([1.0])}, "/x/shape/0", "valid integer"),
    "nine dimensions": ({"x": buffer([1] * 9)}, "/x/shape", "at most 8 items"),
    "unknown field": ({"x": buffer([1], stride=[1])}, "/x/stride", "Did you mean `strides`?"),
    "strides of another rank": ({"x": buffer([4], strides=[1, 1])}, "/x/strides", "2 strides"),
    "overlapping strides": ({"x": buffer([4, 4], strides=[1, 1])}, "/x/strides", STRIDES),
    "stride zero": ({"x": buffer([4], strides=[0])}, "/x/strides", STRIDES),
    "before the memory": ({"x": buffer([4], strides=[-1])}, "/x/offset", "reach 3 elements before"),
    "alignment of 24": ({"x": buffer([1], align_bytes=24)}, "/x/align_bytes", "power of two"),
    "too many bytes": ({"x": buffer([2**30])}, "", "the largest is x with 4294967296"),
    "together too many": ({"x": buffer([2**28]), "y": buffer([2**28 + 1])}, "", "2147483652 bytes"),
    "product beyond 64 bits": ({"x": buffer([2**40, 2**40])}, "/x/shape", "64-bit addresses"),
    "extent beyond 64 bits": ({"x": buffer([2**63])}, "/x/shape/0", "less than or equal"),
    "string": ({"x": "fp32"}, "/x", "strings are constexprs"),
    "a form of the command line": (
        {"x": "fp32[8]:normal"},
        "/x",
        '{"shape": [8, 1000], "dtype": "fp32", "init": {"kind":',
    ),
    "dtype as a value": ({"x": {"dtype": "bf16"}}, "/x/shape", "needed"),
    "function as a value": ({"x": {"function": "relu"}}, "/x", "is not an argument"),
    "empty object": ({"x": {}}, "/x", "is not an argument"),
    "no name": ({"x y": 1}, "/x y", "is not a parameter name"),
    "integer beyond 64 bits": ({"n": 2**64}, "/n", "does not fit in 64 bits"),
    "value out of range": ({"n": {"value": 300, "dtype": "i8"}}, "/n/value", "from -128 to 127"),
    "float for an integer": (
        {"n": {"value": 1.5, "dtype": "i32"}},
        "/n/value",
        "is not a valid i32",
    ),
    "text without a dtype": ({"n": {"value": "1"}}, "/n/value", "give its `dtype`"),
    "unknown scalar dtype": ({"n": {"value": 1, "dtype": "x"}}, "/n/dtype", "not a Triton type"),
    "view of nothing": ({"x": 1, "v": {"view": {"of": "y"}}}, "/v/view/of", "no argument"),
    "view of a scalar": ({"x": 1, "v": {"view": {"of": "x"}}}, "/v/view/of", "not a buffer"),
    "view of no item": ({"x": [1], "v": {"view": {"of": "x.1"}}}, "/v/view/of", "not a buffer"),
    "view of itself": ({"v": {"view": {"of": "v"}}}, "/v/view/of", "the views form a cycle"),
    "view beyond": (
        {"x": buffer([4]), "v": {"view": {"of": "x", "offset": 1}}},
        "/v/view",
        "reaches elements 1 to 4 of x, which has 4",
    ),
    "view before": (
        {"x": buffer([4]), "v": {"view": {"of": "x", "offset": -1, "shape": [1]}}},
        "/v/view",
        "reaches elements -1 to -1",
    ),
    "view and more": (
        {"x": buffer([4]), "v": {"view": {"of": "x"}, "dtype": "fp16"}},
        "/v/dtype",
        "unknown field",
    ),
    "error in a tuple": ({"t": {"tuple": [1, "x"]}}, "/t/tuple/1", "strings are constexprs"),
    "deep tuple": ({"t": [[[[[[[[[]]]]]]]]]}, "/t" + "/0" * 8, "8 deep"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_with_its_place(name: str):
    arguments, at, message = REFUSED[name]
    [(pointer, said)] = errors(lambda: bind_arguments(arguments))

    assert pointer == "/arguments" + at
    assert message in said


def test_a_long_chain_of_views_is_refused_unless_it_is_written_in_order():
    chain = {"x": buffer([4])} | {f"v{n}": {"view": {"of": f"v{n - 1}"}} for n in range(1, 1000)}
    chain["v0"] = {"view": {"of": "x"}}
    backwards = dict(sorted(chain.items(), key=lambda item: -int(item[0][1:] or 0)))
    in_order = dict(reversed(backwards.items()))

    assert len(bind_arguments(in_order).arguments) == 1001
    found = errors(lambda: bind_arguments(backwards))
    assert "write their bases before them" in found[0][1]


def test_all_faults_are_found():
    found = errors(lambda: bound(x="a", y=buffer([1], "b"), n=2**64))

    assert [pointer for pointer, _ in found] == [
        "/arguments/x",
        "/arguments/y/dtype",
        "/arguments/n",
    ]


def test_the_limit_on_bytes_is_a_parameter():
    [(pointer, message)] = errors(lambda: bind_arguments({"x": buffer([5])}, max_bytes=16))

    assert pointer == "/arguments"
    assert "20 bytes together, more than the 16 allowed" in message
