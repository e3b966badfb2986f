"""Arguments that break a compilation's hints, distinguished from arguments of wrong types."""

from typing import Any

import pytest

from compiler import compilation
from compiler.rejection import RequestRejected
from compiler.request.signature import parse_specialization
from launch.request.argument_binding import bind_arguments
from launch.request.hint_check import HintViolated, check_hints, compiled_hints

X = {"shape": [32], "dtype": "fp32", "output": True}
ODD = X | {"offset": 1}


def check(signature: Any, constexprs: Any = None, /, **arguments: Any) -> None:
    named = parse_specialization(signature, None, constexprs).named
    check_hints(named, bind_arguments(arguments), at="")


KEPT: dict[str, tuple[Any, Any]] = {
    "aligned buffer": ("*fp32:16", X),
    "buffer without a hint": ("*fp32", ODD),
    "const buffer": ("*kfp32:16", X),
    "boolean buffer": ("*u1", X | {"dtype": "bool"}),
    "null pointer": ("*fp32:16", None),
    "size": ("i32:16", 32),
    "zero": ("i32:16", 0),
    "one": ("i32:1", 1),
    "true as one": ("i32:1", True),
    "wide integer": ("i64", 2**40),
    "integer for a float": ("fp32", 1),
    "boolean": ("i1", True),
    "descriptor": ("tensordesc<fp32[16]>", {"descriptor": {"base": X, "block_shape": [16]}}),
    "tuple": (["*fp32:16", ["i32:1", None]], [X, [1, None]]),
    "constant items": ([{"constexpr": 4}, {"constexpr": [1, 2]}], [4, [1, 2]]),
}


@pytest.mark.parametrize("name", KEPT)
def test_promises_are_kept(name: str):
    kind, argument = KEPT[name]

    check({"p": kind}, p=argument)


VIOLATED: dict[str, tuple[Any, Any, str, str]] = {
    "size": ("i32:16", 33, "/p", "breaks the hint divisible_by_16"),
    "one": ("i32:1", 2, "/p", "breaks the hint equal_to_1"),
    "address": ("*fp32:16", ODD, "/p", "breaks the hint divisible_by_16"),
    "item": (["i32", "i32:16"], [1, 1], "/p/1", "breaks the hint divisible_by_16"),
    "constant item": ([None], [5], "/p/0", "compiled as the constant null"),
    "constant item with a value": ([{"constexpr": 4}], [5], "/p/0", "compiled as the constant 4"),
    "how a size breaks it": ("i32:16", 33, "/p", "is 33, not a multiple of 16; "),
    "how a one breaks it": ("i32:1", 2, "/p", "is 2, not 1; "),
    "how an offset breaks it": ("*fp32:16", ODD, "/p", "begins 4 bytes into memory"),
    "how an alignment breaks it": ("*fp32:16", X | {"align_bytes": 8}, "/p", "is aligned to 8"),
}


@pytest.mark.parametrize("name", VIOLATED)
def test_a_broken_hint_is_a_violation(name: str):
    kind, argument, at, message = VIOLATED[name]
    with pytest.raises(HintViolated) as violated:
        check({"p": kind}, p=argument)

    assert violated.value.slug == "hint_violated"
    [error] = violated.value.errors
    assert error.pointer == at
    assert message in error.message


@pytest.mark.parametrize(
    ("of_ir", "remedy"),
    [
        (False, ": compile it again with n=i32 in its signature"),
        (
            True,
            ": remove tt.divisibility of n from the IR, or compile its source again with n=i32 in "
            "its signature",
        ),
    ],
)
def test_a_broken_hint_names_the_type_without_it(of_ir: bool, remedy: str):
    named = parse_specialization({"n": "i32:16"}, None, None).named
    with pytest.raises(HintViolated) as violated:
        check_hints(named, bind_arguments({"n": 1000}), of_ir=of_ir)
    assert violated.value.errors[0].message.endswith(f"compiled with{remedy}")


def test_a_range_of_32_bits_is_a_promise_of_small_memory():
    named = parse_specialization({"p": "*i8"}, {"p": ["pointer_range_32"]}, None).named
    large = {"shape": [2**31], "dtype": "i8", "output": True}
    with pytest.raises(HintViolated, match="its buffer has 2147483648 bytes"):
        check_hints(named, bind_arguments({"p": large}, max_bytes=2**32))


WRONG: dict[str, tuple[Any, Any, str]] = {
    "element type": ("*fp16", X, "must be of type *fp16"),
    "scalar for a pointer": ("*fp32", 1, "must be of type *fp32"),
    "buffer for a scalar": ("i32", X, "must be of type i32"),
    "null for a scalar": ("i32", None, "must be of type i32"),
    "float for an integer": ("i32", 1.5, "must be of type i32"),
    "integer out of range": ("i32", 2**31, "must be of type i32"),
    "scalar for a descriptor": ("tensordesc<fp32[16]>", 1, "must be of type tensordesc"),
    "other block": (
        "tensordesc<fp32[32]>",
        {"descriptor": {"base": X, "block_shape": [16]}},
        "must be of type tensordesc",
    ),
    "tuple of another length": (["i32"], [1, 2], "must be a tuple of 1"),
    "no tuple": (["i32"], 1, "must be a tuple of 1"),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_argument_of_another_type_is_no_violation_of_a_hint(name: str):
    kind, argument, message = WRONG[name]
    with pytest.raises(RequestRejected) as rejected:
        check({"p": kind}, p=argument)

    assert rejected.value.slug == "invalid_request"
    assert message in str(rejected.value)


def test_missing_and_unknown_arguments_are_named():
    with pytest.raises(RequestRejected) as rejected:
        check({"x": "*fp32", "n": "i32:1"}, {"B": 1}, y=1)

    assert str(rejected.value) == (
        "/y: is not a parameter with a type in the compilation; those are x, n, B; "
        ': there is no argument for "x" of type *fp32'
    )


def test_arguments_that_the_source_may_have_defaults_for_can_be_missing():
    named = parse_specialization({"x": "*fp32", "n": "i32"}, None, None).named

    check_hints(named, bind_arguments({"n": 1}), complete=False)


def test_a_finished_compilation_promises_its_parameters():
    def parameter(name: str, kind: Any, role: Any, hints: list[str], value: Any) -> Any:
        return compilation.Parameter(name=name, type=kind, role=role, hints=hints, value=value)

    named = compiled_hints(
        [
            parameter("x", "*fp32", "runtime", ["divisible_by_16"], None),
            parameter("n", "i32", "specialized", ["equal_to_1"], 1),
            parameter("BLOCK", None, "constexpr", [], 64),
        ]
    )

    check_hints(named, bind_arguments({"x": X, "n": 1, "BLOCK": 64}))
    with pytest.raises(HintViolated, match="compiled as the constant 64"):
        check_hints(named, bind_arguments({"x": X, "BLOCK": 32}))
