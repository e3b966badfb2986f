"""A specialization bound to the parameters that reading found."""

from typing import Any

import pytest

from compiler.compilation import Parameter
from compiler.parameter_binding import (
    Binding,
    BindingFailed,
    bind,
    bind_unseen,
    with_defaults,
    without_type,
)
from compiler.request.signature import parse_specialization


def fact(name: str, *, constexpr: bool = False, default: Any = None) -> dict[str, Any]:
    return {
        "name": name,
        "annotation": "tl.constexpr" if constexpr else None,
        "constexpr": constexpr,
        "default": default,
        "do_not_specialize": False,
        "const": False,
    }


# def add_kernel(x_ptr, n_elements, BLOCK_SIZE: tl.constexpr, EVEN: tl.constexpr = True)
FACTS = [
    fact("x_ptr"),
    fact("n_elements"),
    fact("BLOCK_SIZE", constexpr=True),
    fact("EVEN", constexpr=True, default={"literal": True}),
]


def bound(signature: Any, constexprs: Any = None, facts: Any = FACTS) -> Binding:
    return bind("add_kernel", facts, parse_specialization(signature, None, constexprs))


def refused(signature: Any, constexprs: Any = None, facts: Any = FACTS) -> BindingFailed:
    with pytest.raises(BindingFailed) as failed:
        bound(signature, constexprs, facts)
    return failed.value


def test_parameters_come_in_the_order_of_the_kernel():
    binding = bound({"n_elements": "i32", "x_ptr": "*fp32:16"}, {"BLOCK_SIZE": 1024})

    assert list(binding.signature.items()) == [("x_ptr", "*fp32"), ("n_elements", "i32")]
    assert binding.constexprs == {"BLOCK_SIZE": {"int": "1024"}}
    assert binding.hints == {"x_ptr": ["divisible_by_16"]}
    assert binding.parameters == (
        Parameter(
            name="x_ptr", type="*fp32", role="runtime", hints=["divisible_by_16"], value=None
        ),
        Parameter(name="n_elements", type="i32", role="runtime", hints=[], value=None),
        Parameter(name="BLOCK_SIZE", type=None, role="constexpr", hints=[], value=1024),
        Parameter(name="EVEN", type=None, role="constexpr", hints=[], value=True),
    )


def test_a_parameter_equal_to_1_is_compiled_as_the_constant():
    binding = bound({"x_ptr": "*fp32", "n_elements": "i32:1"}, {"BLOCK_SIZE": 16})

    assert "n_elements" not in binding.signature
    assert binding.constexprs["n_elements"] == {"int": "1"}
    assert binding.hints == {}
    assert binding.parameters[1] == Parameter(
        name="n_elements", type="i32", role="specialized", hints=["equal_to_1"], value=1
    )


def test_items_of_a_tuple_are_hinted_and_constant_by_path():
    binding = bound(
        {"x_ptr": ["*fp32:16", ["i32:1", None]], "n_elements": "i32"}, {"BLOCK_SIZE": 1}
    )

    assert binding.signature["x_ptr"] == ["*fp32", ["constexpr", "constexpr"]]
    assert binding.hints == {"x_ptr.0": ["divisible_by_16"]}
    assert binding.constexprs["x_ptr.1.0"] == {"int": "1"}
    assert binding.constexprs["x_ptr.1.1"] is None
    assert binding.parameters[0].type == ["*fp32:16", ["i32:1", None]]


def test_a_constexpr_may_stand_for_a_runtime_parameter():
    binding = bound({"x_ptr": "*fp32"}, {"n_elements": None, "BLOCK_SIZE": 16})

    assert binding.signature == {"x_ptr": "*fp32"}
    assert binding.constexprs["n_elements"] is None
    assert binding.parameters[1].role == "constexpr"


def test_positions_count_the_parameters_of_the_kernel():
    binding = bound("*fp32:16, i32, 1024")

    assert binding.signature == {"x_ptr": "*fp32", "n_elements": "i32"}
    assert binding.constexprs == {"BLOCK_SIZE": {"int": "1024"}}


def test_positions_and_constexprs_go_together():
    assert bound("*fp32, i32", {"BLOCK_SIZE": 64}).constexprs == {"BLOCK_SIZE": {"int": "64"}}


def test_a_given_value_takes_the_place_of_a_default():
    binding = bound("*fp32, i32, 64", {"EVEN": False})

    assert binding.constexprs["EVEN"] is False
    assert binding.parameters[3].value is False


def test_a_default_that_is_an_expression_is_reported_by_the_front_end():
    facts = [fact("BLOCK_SIZE", constexpr=True, default={"expression": "2 * N"})]
    binding = bound(None, facts=facts)

    assert binding.parameters[0].value is None
    assert with_defaults(binding.parameters, {"BLOCK_SIZE": {"int": "64"}})[0].value == 64


def test_defaults_do_not_touch_what_was_given():
    binding = bound("*fp32, i32, 64")

    assert with_defaults(binding.parameters, {}) == binding.parameters


def test_a_kernel_without_parameters_needs_nothing():
    assert bound(None, facts=[]).parameters == ()


def test_a_kernel_that_only_execution_finds_is_bound_by_name():
    unseen = bind_unseen(parse_specialization({"x_ptr": "*fp32:16"}, None, {"BLOCK_SIZE": 64}))

    assert unseen.signature == {"x_ptr": "*fp32"}
    assert unseen.hints == {"x_ptr": ["divisible_by_16"]}
    assert unseen.constexprs == {"BLOCK_SIZE": {"int": "64"}}


def test_a_kernel_that_only_execution_finds_has_no_positions():
    with pytest.raises(BindingFailed, match="write `signature` as an object by name") as failed:
        bind_unseen(parse_specialization("*fp32", None, None))

    assert (failed.value.slug, failed.value.parameter) == ("missing_type", "signature")


def test_a_parameter_that_is_not_there_is_named_with_the_closest():
    failed = refused({"x_ptr": "*fp32", "n_element": "i32"}, {"BLOCK_SIZE": 16})

    assert (failed.slug, failed.parameter) == ("extra_argument", "n_element")
    assert str(failed) == (
        "kernel `add_kernel` has no parameter `n_element`. Did you mean `n_elements`? "
        "Its parameters are x_ptr, n_elements, BLOCK_SIZE, EVEN."
    )


def test_a_parameter_of_a_kernel_without_any_is_named():
    failed = refused(None, {"BLOCK": 1}, facts=[])

    assert str(failed) == "kernel `add_kernel` has no parameter `BLOCK`. Its parameters are none."


def test_more_positions_than_parameters_are_refused():
    failed = refused("*fp32, i32, 1, True, i32")

    assert (failed.slug, failed.parameter) == ("extra_argument", "4")
    assert str(failed) == "`signature` has 5 entries, but `add_kernel` has 4 parameters"


def test_a_position_and_a_value_for_one_parameter_are_refused():
    failed = refused("*fp32, i32, 1024", {"BLOCK_SIZE": 1024})

    assert (failed.slug, failed.parameter) == ("extra_argument", "BLOCK_SIZE")
    assert str(failed) == (
        "parameter `BLOCK_SIZE` has an entry in `signature` and one in `constexprs`"
    )


def test_a_constexpr_without_a_value_is_missing():
    failed = refused({"x_ptr": "*fp32", "n_elements": "i32"})

    assert (failed.slug, failed.parameter) == ("missing_constexpr", "BLOCK_SIZE")
    assert str(failed) == (
        "constexpr parameter `BLOCK_SIZE` of `add_kernel` has no value: add it to `constexprs`"
    )


def test_a_parameter_without_type_or_value_is_missing():
    failed = refused({"x_ptr": "*fp32"}, {"BLOCK_SIZE": 16})

    assert (failed.slug, failed.parameter) == ("missing_type", "n_elements")
    assert str(failed) == (
        "parameter `n_elements` of `add_kernel` has neither a type in `signature` "
        'nor a value in `constexprs`: add for example "n_elements": "i32"'
    )
    pointer = refused({"n_elements": "i32"}, {"BLOCK_SIZE": 16})
    assert str(pointer).endswith('add for example "x_ptr": "*fp32:16"')


@pytest.mark.parametrize(
    ("name", "examples"),
    [
        ("eps", '"eps": "fp32"'),
        ("sm_scale", '"sm_scale": "fp32"'),
        ("stride_x", '"stride_x": "i32"'),
        ("x", '"x": "i32" or "x": "fp32" or "x": "*fp32:16"'),
    ],
)
def test_the_type_that_is_suggested_follows_from_the_name(name: str, examples: str):
    problem = without_type("norm", {"name": name})

    assert problem.message.endswith(f"add for example {examples}")


def test_a_type_for_a_constexpr_is_refused():
    failed = refused({"x_ptr": "*fp32", "n_elements": "i32", "BLOCK_SIZE": "i32"})

    assert (failed.slug, failed.parameter) == ("missing_constexpr", "BLOCK_SIZE")
    assert str(failed) == (
        "parameter `BLOCK_SIZE` of `add_kernel` is a tl.constexpr: "
        "give its value in `constexprs`, not a type in `signature`"
    )


def test_all_that_is_missing_is_reported_at_once():
    failed = refused(None)

    assert (failed.slug, failed.parameter) == ("missing_type", "x_ptr")
    assert [item.parameter for item in failed.misfits] == ["x_ptr", "n_elements", "BLOCK_SIZE"]
    assert all(f"`{item.parameter}`" in str(failed) for item in failed.misfits)


def test_all_names_that_are_no_parameters_are_reported_at_once():
    failed = refused({"x_prt": "*fp32", "n_elements": "i32"}, {"BLOK_SIZE": 16})

    assert failed.slug == "extra_argument"
    assert [(item.parameter, item.suggested) for item in failed.misfits] == [
        ("x_prt", "x_ptr"),
        ("BLOK_SIZE", "BLOCK_SIZE"),
    ]


SET_BY = {
    "heuristics": (None, "@triton.heuristics sets it", "what the function"),
    "autotune": ({"literal": {"int": "64"}}, "@triton.autotune sets it", "has BLOCK = 64"),
    "perhaps_autotune": (None, "if @triton.autotune sets it", "one of the configurations"),
}


@pytest.mark.parametrize(("setter", "reported"), SET_BY.items(), ids=SET_BY)
def test_a_value_that_a_decorator_sets_at_launch_is_to_be_given(setter: str, reported: Any):
    example, message, hint = reported
    facts = [fact("BLOCK", constexpr=True) | {"set_by": setter, "example": example}]

    (found,) = refused(None, facts=facts).misfits

    assert message in found.message
    assert hint in str(found.hint)
