"""Inference: annotations, defaults, and arguments that do not fit a kernel.

Integration tests compare types and hints with Triton's JIT.
"""

from typing import Any

import pytest

from compiler.parameter_binding import BindingFailed
from compiler.request.signature import parse_specialization
from compiler.specialization import SpecializedParameter
from launch.request.argument_binding import bind_arguments
from launch.request.inference import Inferred, annotated_type, infer

ANNOTATED = {
    None: None,
    "": None,
    "tl.int64": "i64",
    "triton.language.int64": "i64",
    "L.float16": "fp16",
    "torch.float16": None,
    "*fp32": "*fp32",
    "float*": "*fp32",
    "const float*": "*kfp32",
    "const float": None,
    "*kfp16": "*kfp16",
    "int": "i32",
    "float": "fp32",
    "bool": "u1",
    "int32_t": "i32",
    "tl.pointer_type(tl.float32)": "*fp32",
    "tl.pointer_type(tl.float32, 1)": "*fp32",
    "tl.const": None,
    "tl.tensor": None,
    "fp99": None,
}


@pytest.mark.parametrize("text", ANNOTATED)
def test_an_annotation_fixes_a_type_or_nothing(text: str | None):
    assert annotated_type(text) == ANNOTATED[text]


def fact(name: str, annotation: str | None = None, **fields: Any) -> dict[str, Any]:
    return {
        "name": name,
        "annotation": annotation,
        "constexpr": annotation == "tl.constexpr",
        "default": None,
        "do_not_specialize": False,
        "do_not_specialize_on_alignment": False,
        "const": False,
        **fields,
    }


def inferred(facts: list[dict[str, Any]], constexprs: Any = None, **arguments: Any) -> Inferred:
    given = parse_specialization(None, None, constexprs).named
    return infer("kernel", facts, bind_arguments(arguments), given)


X = {"shape": [4], "dtype": "fp32", "output": True}
FACTS = [fact("x"), fact("n"), fact("BLOCK", "tl.constexpr")]


def test_types_and_hints_come_from_arguments():
    named = inferred(FACTS, {"BLOCK": 64}, x=X, n=17).specialization.named

    assert named == {
        "x": SpecializedParameter("*fp32", frozenset({"divisible_by_16"})),
        "n": SpecializedParameter("i32"),
        "BLOCK": SpecializedParameter(value={"int": "64"}, is_constexpr=True),
    }


def test_an_argument_may_be_a_constexpr():
    named = inferred(FACTS, x=X, n=1, BLOCK=[64, None]).specialization.named

    assert named["n"] == SpecializedParameter("i32", frozenset({"equal_to_1"}))
    assert named["BLOCK"].value == {"tuple": [{"int": "64"}, None]}


def test_a_value_in_constexprs_stands_for_a_runtime_argument():
    assert inferred(FACTS, {"BLOCK": 64, "n": 5}, x=X).specialization.named["n"].is_constexpr


def test_a_default_is_an_argument():
    made = inferred([fact("x"), fact("n", default={"literal": {"int": "16"}})], x=X)

    assert made.specialization.named["n"] == SpecializedParameter(
        "i32", frozenset({"divisible_by_16"})
    )
    assert made.arguments.arguments["n"].value == {"int": "16"}


def test_a_tuple_as_default_is_an_argument_of_its_items():
    pair = {"tuple": [{"int": "16"}, None, {"float": "0x1.8p+0"}]}

    named = inferred([fact("n", default={"literal": pair})]).specialization.named

    assert named["n"] == SpecializedParameter(["i32:16", None, "fp32"])


def test_defaults_that_are_constants_are_left_to_the_compilation():
    facts = [
        fact("SIZE", "tl.constexpr", default={"expression": "2 * SIZE"}),
        fact("BLOCK", "tl.constexpr", default={"literal": {"int": "64"}}),
        fact("wrapped", default={"literal": {"int": "4"}, "constexpr": True}),
        fact("activation", default={"literal": {"function": "relu"}}),
    ]

    assert inferred(facts).specialization.named == {}


def test_a_given_dtype_is_as_good_as_an_annotation():
    named = inferred([fact("n")], n={"value": 1, "dtype": "i64"}).specialization.named

    assert named["n"] == SpecializedParameter("i64")


def test_the_annotation_of_the_kernel_wins():
    named = inferred([fact("n", "tl.int64")], n={"value": 32, "dtype": "i32"}).specialization.named

    assert named["n"] == SpecializedParameter("i64", frozenset({"divisible_by_16"}))


REFUSED: dict[str, tuple[list[dict[str, Any]], dict[str, Any], str, str]] = {
    "unknown argument": ([fact("x")], {"x": 1, "y": 1}, "extra_argument", "no parameter `y`"),
    "no argument": ([fact("x")], {}, "missing_argument", "no argument and no default"),
    "text as default": (
        [fact("mode", default={"literal": "fast"})],
        {},
        "missing_argument",
        "the default of parameter `mode` of `kernel`, fast, cannot be passed",
    ),
    "dtype in a default": (
        [fact("t", default={"literal": {"tuple": [{"dtype": "fp16"}]}})],
        {},
        "missing_argument",
        "annotate it tl.constexpr",
    ),
    "object as default": (
        [fact("mode", default={"expression": "a value of type Mode"})],
        {},
        "missing_argument",
        "a value of type Mode",
    ),
    "no constexpr": (
        [fact("B", "tl.constexpr")],
        {},
        "missing_constexpr",
        "no value: add it to `constexprs`",
    ),
    "buffer for a constexpr": (
        [fact("B", "tl.constexpr")],
        {"B": X},
        "argument_mismatch",
        "cannot be a buffer",
    ),
    "buffer for a scalar": ([fact("n", "int")], {"n": X}, "argument_mismatch", "is a buffer"),
    "scalar for a pointer": (
        [fact("x", "*fp32")],
        {"x": 1},
        "argument_mismatch",
        "annotated *fp32",
    ),
    "null for a scalar": ([fact("n", "int")], {"n": None}, "argument_mismatch", "is a none"),
    "float for an integer": ([fact("n", "int")], {"n": 1.5}, "argument_mismatch", "annotated i32"),
    "integer out of range": (
        [fact("n", "tl.int8")],
        {"n": 200},
        "argument_mismatch",
        "annotated i8",
    ),
    "tuple for a scalar": ([fact("n", "int")], {"n": [1]}, "argument_mismatch", "is a tuple"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_the_kernel_is_refused(name: str):
    facts, arguments, slug, message = REFUSED[name]
    with pytest.raises(BindingFailed) as failed:
        inferred(facts, **arguments)

    assert failed.value.slug == slug
    assert message in str(failed.value)


def test_an_argument_and_a_constexpr_of_one_name_are_refused():
    with pytest.raises(BindingFailed, match="an argument and a value in constexprs"):
        inferred(FACTS, {"BLOCK": 64}, x=X, n=1, BLOCK=64)
