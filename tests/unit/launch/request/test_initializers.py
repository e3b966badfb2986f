"""Initializers: defaults and invalid parameters."""

import itertools
import random
from typing import Any

import pytest

from compiler.rejection import RequestRejected
from launch.request.argument_binding import bind_arguments
from launch.request.case import cases_of, seeds_of, with_seeds
from launch.request.initializer import bind_init, with_seed
from tests.unit.launch.request.launch_of_add import errors, request

DIGEST = "sha256:" + "0f" * 32

GIVEN: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "zeros": ({"kind": "zeros"}, "fp32", {}),
    "ones": ({"kind": "ones"}, "i1", {}),
    "full": ({"kind": "full", "value": 3}, "i8", {"value": 3}),
    "full of floats": ({"kind": "full", "value": 3}, "fp16", {"value": 3.0}),
    "full of infinity": ({"kind": "full", "value": "-Infinity"}, "fp32", {"value": "-Infinity"}),
    "arange": ({"kind": "arange"}, "i32", {"start": 0, "step": 1}),
    "arange of floats": ({"kind": "arange", "step": 0.5}, "fp32", {"start": 0.0, "step": 0.5}),
    "arange down": ({"kind": "arange", "start": 5, "step": -1}, "u8", {"start": 5, "step": -1}),
    "uniform": ({"kind": "uniform", "seed": 7}, "fp32", {"seed": 7, "low": 0.0, "high": 1.0}),
    "normal": (
        {"kind": "normal", "seed": 7, "std": 2},
        "bf16",
        {"seed": 7, "mean": 0.0, "std": 2.0},
    ),
    "randint": (
        {"kind": "randint", "seed": 7, "high": 128},
        "i8",
        {"seed": 7, "low": 0, "high": 128},
    ),
    "randint of 64 bits": (
        {"kind": "randint", "seed": 0, "high": 2**64},
        "u64",
        {"seed": 0, "low": 0, "high": 2**64},
    ),
    "tensor": ({"kind": "tensor", "digest": DIGEST}, "fp32", {"digest": DIGEST}),
    "values": (
        {"kind": "values", "values": [[1, 2, 3], [4, 5, "NaN"]]},
        "fp32",
        {"values": [1.0, 2.0, 3.0, 4.0, 5.0, "NaN"]},
    ),
}


@pytest.mark.parametrize("name", GIVEN)
def test_nothing_is_left_open(name: str):
    written, dtype, made = GIVEN[name]

    assert bind_init(written, [2, 3], dtype, "") == {"kind": written["kind"], **made}


def test_values_of_a_buffer_without_dimensions_are_one():
    assert bind_init({"kind": "values", "values": 5}, [], "i32", "")["values"] == [5]


REFUSED: dict[str, tuple[Any, str, str, str]] = {
    "no object": ("zeros", "fp32", "", "kinds are zeros, ones"),
    "unknown kind": ({"kind": "zeroes"}, "fp32", "/kind", "Did you mean `zeros`?"),
    "parameter of another kind": ({"kind": "zeros", "value": 1}, "fp32", "/value", "unknown field"),
    "no value": ({"kind": "full"}, "fp32", "/value", "needed"),
    "value out of range": ({"kind": "full", "value": 256}, "u8", "/value", "from 0 to 255"),
    "value that is no boolean": ({"kind": "full", "value": 2}, "i1", "/value", "from 0 to 1"),
    "value that is a boolean": (
        {"kind": "full", "value": True},
        "i32",
        "/value",
        "is not a valid i32",
    ),
    "NaN of integers": ({"kind": "full", "value": "NaN"}, "i32", "/value", "is not a valid i32"),
    "integer beyond floats": (
        {"kind": "full", "value": 10**400},
        "fp64",
        "/value",
        "is not a valid fp64",
    ),
    "arange beyond": ({"kind": "arange", "start": 251}, "u8", "", "outside of u8 (0 to 255)"),
    "arange by halves": ({"kind": "arange", "step": 0.5}, "i32", "/step", "is not a valid i64"),
    "no seed": ({"kind": "uniform"}, "fp32", "/seed", "needed"),
    "negative seed": ({"kind": "uniform", "seed": -1}, "fp32", "/seed", "greater than"),
    "upside down": ({"kind": "uniform", "seed": 1, "low": 2}, "fp32", "/high", "at least `low`"),
    "negative deviation": ({"kind": "normal", "seed": 1, "std": -1}, "fp32", "/std", "greater"),
    "randint without high": ({"kind": "randint", "seed": 1}, "i32", "/high", "needed"),
    "randint of nothing": ({"kind": "randint", "seed": 1, "high": 0}, "i32", "/high", "exclusive"),
    "randint beyond": ({"kind": "randint", "seed": 1, "high": 129}, "i8", "", "outside of i8"),
    "short row": ({"kind": "values", "values": [[1, 2, 3], [4]]}, "fp32", "/values/1", "list of 3"),
    "flat": ({"kind": "values", "values": [1, 2, 3, 4, 5, 6]}, "fp32", "/values", "list of 2"),
    "value of another dtype": (
        {"kind": "values", "values": [[1, 2, 3], [4, 5, 6.5]]},
        "i32",
        "/values/1/2",
        "is not a valid i32",
    ),
    "digest without algorithm": (
        {"kind": "tensor", "digest": "0f" * 32},
        "fp32",
        "/digest",
        "match",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_initializer_that_makes_no_sense_is_refused(name: str):
    written, dtype, at, message = REFUSED[name]
    [(pointer, said)] = errors(lambda: bind_init(written, [2, 3], dtype, ""))

    assert pointer == at
    assert message in said


def test_values_are_bounded():
    many = {"kind": "values", "values": []}
    [(pointer, message)] = errors(lambda: bind_init(many, [65_537], "i8", ""))

    assert pointer == "/values"
    assert "PUT /v1/tensors" in message


def random_input(**fields: Any) -> dict[str, Any]:
    return {"shape": [4], "dtype": "fp32", "init": {"kind": "uniform", **fields}}


def test_missing_seeds_are_chosen_and_given_ones_kept():
    arguments = {"x": random_input(), "y": random_input(seed=5), "init": random_input(seed=None)}
    seeded = with_seeds(request(arguments=arguments), random.Random(3))
    seeds = seeds_of(bind_arguments(seeded.arguments))

    assert seeds["y"] == 5
    assert len(set(seeds.values())) == 3
    assert all(0 <= seed < 2**53 for seed in seeds.values())


@pytest.mark.parametrize("kind", [None, {"float": "nan"}, ["uniform"], 1])
def test_an_unknown_initialiser_gets_no_seed(kind: Any):
    init = {"kind": kind}

    assert with_seed(init, random.Random(3)) == init


def test_seeds_are_chosen_inside_tuples_and_descriptors():
    base = random_input() | {"shape": [32]}
    arguments = {
        "t": [{"tuple": [random_input()]}],
        "d": {"descriptor": {"base": base, "block_shape": [32]}},
    }
    seeded = with_seeds(request(arguments=arguments), random.Random(3))

    assert seeds_of(bind_arguments(seeded.arguments)).keys() == {"t.0.0", "d"}


def test_cases_share_the_seeds_of_what_they_do_not_change():
    changed = {"arguments": {"y": random_input()}}
    asked = request(
        arguments={"x": random_input(), "y": random_input()}, grid=[1], cases=[{}, changed]
    )
    (first, _), (second, _) = cases_of(with_seeds(asked, random.Random(3)), max_bytes=1000)

    assert seeds_of(first.bound)["x"] == seeds_of(second.bound)["x"]
    assert seeds_of(first.bound)["y"] != seeds_of(second.bound)["y"]


@pytest.mark.parametrize("dtype", ["fp32", "bf16", "i1", "i8", "u8", "i64", "u64"])
def test_a_row_has_the_elements_that_its_values_have_one_by_one(dtype: str):
    every = [0, 1, -1, 127, 128, 2**53 + 1, 2**64, 10**400, 0.0, -0.0, 1.5, 1e308, True, "NaN", "7"]
    for row in itertools.product(every, repeat=2):
        one_by_one = [outcome_of_one(item, dtype) for item in row]
        refused = [f"/values/{at}" for at, each in enumerate(one_by_one) if each == "refused"]
        found = outcome(list(row), dtype)
        assert repr(found) == repr(refused[0] if refused else one_by_one)


def outcome_of_one(item: Any, dtype: str) -> Any:
    try:
        return bind_init({"kind": "values", "values": item}, [], dtype, "")["values"][0]
    except RequestRejected:
        return "refused"


def outcome(row: list[Any], dtype: str) -> Any:
    try:
        return bind_init({"kind": "values", "values": row}, [len(row)], dtype, "")["values"]
    except RequestRejected as rejected:
        return rejected.errors[0].pointer
