"""Arguments from Compiler Explorer's plug-ins, and values that they leave to the source."""

from typing import Any

import pytest

from adapters.compiler_explorer.compiling import infer
from adapters.compiler_explorer.user_arguments import (
    MAX_CHARS,
    ArgumentsRefused,
    UserArguments,
    read_arguments,
)
from compiler.inspection import InspectedKernel, InspectedParameter, Inspection


def parameter(name: str, annotation: str | None = None, **says: Any) -> InspectedParameter:
    usual = {"constexpr": False, "default": None, "const": False}
    usual |= {"do_not_specialize": False, "do_not_specialize_on_alignment": False, "proposal": None}
    return InspectedParameter(name=name, annotation=annotation, **usual | says)


def kernel(name: str, *parameters: InspectedParameter, **says: Any) -> InspectedKernel:
    usual: dict[str, Any] = {"configs": [], "heuristics": [], "calls": []}
    usual |= {"line": 3, "gluon": False}
    return InspectedKernel(name=name, parameters=list(parameters), **usual | says)


def inspected(*kernels: InspectedKernel) -> Inspection:
    return Inspection(state="succeeded", kernels=list(kernels))


def test_flags_take_pairs_until_the_next_flag():
    read = read_arguments("--kernel add --signature x=*fp32:16 n=i32 --constexpr B=64 --stage=ptx")

    assert read == UserArguments(
        kernel="add",
        signature={"x": "*fp32:16", "n": "i32"},
        constexprs={"B": 64},
        stage="ptx",
    )


def test_an_equals_sign_behind_a_flag_is_a_blank():
    spaced = read_arguments("--signature x=*fp32 --option num_warps=4")
    assert read_arguments("--signature=x=*fp32 --option=num_warps=4") == spaced


def test_types_by_position_stand_as_one_word():
    read = read_arguments("--signature '*fp32:16, i32, 1024'")
    assert read.signature_by_position == "*fp32:16, i32, 1024"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1024", 1024),
        ("2.0", 2.0),
        ("True", True),
        ("none", "none"),
        ("fp16", "fp16"),
        ("9223372036854775807", {"int": "9223372036854775807"}),
        ("1e999", {"float": "inf"}),
        ("NaN", "NaN"),
        ("[1,2]", [1, 2]),
        ("[" * 5000, "[" * 5000),
    ],
)
def test_a_value_is_json_or_a_string(text, value):
    assert read_arguments(f"--constexpr B={text}").constexprs == {"B": value}


@pytest.mark.parametrize("text", ["-O3", "add", "--kernel a b", "--kernel", "--kernel --stage ptx"])
def test_malformed_arguments_are_refused(text):
    with pytest.raises(ArgumentsRefused):
        read_arguments(text)


def test_arguments_have_a_bound():
    with pytest.raises(ArgumentsRefused, match="at most 16384 are allowed"):
        read_arguments("-" * (MAX_CHARS + 1))


def test_annotations_that_are_types_are_taken():
    found = infer(
        UserArguments(),
        inspected(
            kernel(
                "k", parameter("x_ptr", "'*fp32:16'"), parameter("n", "i32"), parameter("m", "T")
            )
        ),
    )

    assert found.members["signature"] == {"x_ptr": "*fp32:16", "n": "i32"}
    assert found.missing == ("--signature m=TYPE",)
    assert found.line == 3


def test_arguments_come_before_what_the_source_says():
    configs = [{"constexprs": {"B": {"literal": 128}}, "options": {"num_warps": {"literal": 2}}}]
    asked = read_arguments("--signature x=*fp16 --constexpr B=64 --option num_warps=8")
    block = parameter("B", "tl.constexpr", constexpr=True)

    found = infer(asked, inspected(kernel("k", parameter("x", "*fp32"), block, configs=configs)))

    assert found.members == {
        "signature": {"x": "*fp16"},
        "constexprs": {"B": 64},
        "options": {"num_warps": 8},
    }
    assert found.notes == ()


def test_a_helper_is_not_the_kernel():
    helper = kernel("helper", parameter("a"))
    found = infer(
        UserArguments(), inspected(helper, kernel("k", parameter("n", "i32"), calls=["helper"]))
    )
    assert (found.members, found.missing) == ({"signature": {"n": "i32"}}, ())


def test_of_several_kernels_the_compilation_says_that_they_are_several():
    found = infer(
        UserArguments(), inspected(kernel("a", parameter("x")), kernel("b", parameter("y")))
    )
    assert found.missing == ()
