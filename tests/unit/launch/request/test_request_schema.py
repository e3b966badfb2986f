"""The OpenAPI schema of launch requests accepts what the reader accepts, and names every part.

Tests of launches validate the bodies that they post against the same schema.
"""

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from compiler.rejection import RequestRejected
from launch.request.launch_request import EXAMPLE, LaunchRequest
from launch.request.launch_resolution import resolve_launch

SCHEMA = Draft202012Validator(LaunchRequest.model_json_schema())
OUT = {"shape": [8], "dtype": "fp32", "output": True}
NUMBERS: list[Any] = [
    True, None, 7, 1.5, {"int": "9223372036854775807"}, {"float": "-inf"}, {"value": None},
    {"value": 7, "dtype": "i64"}, {"value": "NaN", "dtype": "fp16"}, {"value": {"int": "7"}},
    {"value": "18446744073709551615", "dtype": "u64"},
]  # fmt: skip
INITS: list[Any] = [
    {"kind": "zeros"}, {"kind": "ones"}, {"kind": "full", "value": "-Infinity"},
    {"kind": "full", "value": 2}, {"kind": "arange"}, {"kind": "arange", "start": 1, "step": 0.5},
    {"kind": "uniform", "seed": 1, "low": -1}, {"kind": "normal", "seed": 3, "std": 2},
    {"kind": "randint", "seed": 2, "high": 5}, {"kind": "values", "values": [0.5, "NaN"] * 4},
    {"kind": "tensor", "digest": "sha256:" + "0" * 64},
]  # fmt: skip
FORMS: list[Any] = [
    *NUMBERS,
    *({"shape": [8], "dtype": "fp32", "init": init} for init in INITS),
    {"shape": [2, 3], "dtype": "bf16", "strides": [3, 1], "offset": 4, "align_bytes": 64,
     "init": {"kind": "zeros"}},
    {"view": {"of": "out_ptr", "shape": [4], "strides": [2], "offset": 1}},
    {"descriptor": {"base": OUT, "block_shape": [4], "padding": "nan"}},
    {"tuple": [1, OUT | {"dtype": "i32"}, {"tuple": [None]}]},
    [1, [2.5, OUT]],
]  # fmt: skip
MISTAKES: list[Any] = [
    "text", {"int": "7", "float": "7"}, {"shape": [8]}, {"shape": [8], "dtype": 7},
    OUT | {"shpe": 1}, OUT | {"shape": [-1]}, OUT | {"init": {"kind": "zeroes"}},
    OUT | {"init": {"kind": "full"}}, OUT | {"init": {"kind": "uniform", "seed": -1}},
    OUT | {"init": {"kind": "zeros", "value": 1}}, {"view": {"shape": [4]}},
    {"descriptor": {"base": OUT}}, {"descriptor": {"base": 7, "block_shape": [4]}},
    {"tuple": 7}, {"tuple": ["text"]},
]  # fmt: skip


def with_argument(argument: Any) -> dict[str, Any]:
    compilation = {"source": "def kernel(): pass", "target": "cuda:90"}
    arguments = {"out_ptr": OUT, "x": argument}
    return {"compilation": compilation, "grid": [1], "arguments": arguments}


def is_read(body: dict[str, Any]) -> bool:
    try:
        resolve_launch(LaunchRequest.model_validate(body))
    except RequestRejected:
        return False
    return True


def test_the_example_fits() -> None:
    SCHEMA.validate(EXAMPLE)


@pytest.mark.parametrize("argument", FORMS, ids=str)
def test_each_form_of_an_argument_is_read_and_fits(argument: Any) -> None:
    assert is_read(with_argument(argument))
    SCHEMA.validate(with_argument(argument))


@pytest.mark.parametrize("argument", MISTAKES, ids=str)
def test_what_the_schema_has_no_form_for_is_not_read(argument: Any) -> None:
    assert not SCHEMA.is_valid(with_argument(argument))
    assert not is_read(with_argument(argument))


def test_arguments_by_position_fit() -> None:
    SCHEMA.validate({"compilation_key": "0" * 64, "grid": [1], "arguments": [OUT, 7]})


def test_a_seed_may_be_left_to_the_service() -> None:
    init = {"kind": "uniform"}
    SCHEMA.validate(with_argument({"shape": [8], "dtype": "fp32", "init": init}))


def test_a_case_may_change_one_field_of_a_buffer() -> None:
    case = {"arguments": {"out_ptr": {"init": {"kind": "ones"}}, "x": 8}, "grid": ["cdiv(x, 4)"]}
    body = with_argument(7) | {"cases": [case]}

    assert is_read(body)
    SCHEMA.validate(body)


@pytest.mark.parametrize(
    ("changes", "fits"),
    [
        ({"device": "cpu"}, True),
        ({"device": {"target": "cuda:90", "model": None}}, True),
        ({"device": "gpu"}, True),
        ({"device": "interpreter"}, True),
        ({"device": "h100"}, True),
        ({"device": 90}, False),
        ({"device": {"model": "H100"}}, False),
        ({"grid": [1, "n", 2]}, True),
        ({"grid": []}, False),
        ({"grid": [0]}, False),
        ({"grid": [1, 1, 1, 1]}, False),
    ],
)
def test_device_and_grid_are_described(changes: dict[str, Any], *, fits: bool) -> None:
    body = with_argument(7) | changes | {"compilation_key": None}

    assert SCHEMA.is_valid({name: value for name, value in body.items() if value}) is fits
