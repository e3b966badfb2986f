"""Cases: each merges its changes over the launch's own fields."""

from typing import Any

import pytest

from launch.request import argument_binding
from launch.request.case import Case, merge_arguments
from launch.request.launch_request import LaunchRequest
from launch.request.launch_resolution import resolve_launch
from tests.unit.launch.request.launch_of_add import (
    COMPILATION,
    LAUNCH,
    OUTPUT,
    SIGNATURE,
    X,
    errors,
    resolved,
)


def cases(*changes: dict[str, Any], **launch: Any) -> list[Case]:
    return resolved(cases=list(changes), **launch).cases


def test_a_launch_without_cases_is_one_case_without_a_name():
    [case] = resolved().cases

    assert (case.index, case.name) == (0, None)


def test_a_case_that_changes_nothing_is_the_launch():
    [same] = cases({"name": "same"})
    [base] = resolved().cases

    assert (same.name, same.bound, same.grid, same.reference) == (
        "same", base.bound, base.grid, base.reference,
    )  # fmt: skip


def test_what_every_case_says_itself_the_launch_need_not_say():
    launch = LAUNCH | {"cases": [{"grid": [2], "arguments": LAUNCH["arguments"]}]}
    del launch["grid"], launch["arguments"]

    [case] = resolve_launch(LaunchRequest.model_validate(launch)).cases

    assert case.grid.source == (2,)
    assert case.bound.arguments.keys() == LAUNCH["arguments"].keys()


def test_scalars_are_replaced():
    first, second = cases({"arguments": {"n_elements": 95}}, {})

    assert first.bound.arguments["n_elements"].value == {"int": "95"}
    assert second.bound.arguments["n_elements"].value == {"int": "96"}


MERGED: dict[str, tuple[Any, Any, Any]] = {
    "fields of a buffer": (X, {"shape": [5]}, X | {"shape": [5]}),
    "another init": (X, {"init": {"kind": "ones"}}, X | {"init": {"kind": "ones"}}),
    "a whole buffer": (X, OUTPUT, OUTPUT),
    "null for a buffer": (X, None, None),
    "buffer for a scalar": (5, X, X),
    "scalar for a buffer": (X, {"value": 5}, {"value": 5}),
    "view for a buffer": (X, {"view": {"of": "y"}}, {"view": {"of": "y"}}),
    "fields of a view": ({"view": {"of": "y"}}, {"shape": [5]}, {"shape": [5]}),
    "tuples as a whole": ({"tuple": [X]}, {"tuple": [1]}, {"tuple": [1]}),
}


@pytest.mark.parametrize("name", MERGED)
def test_an_argument_is_replaced_and_part_of_a_buffer_merged(name: str):
    base, change, merged = MERGED[name]

    assert merge_arguments({"x": base, "n": 1}, {"x": change}) == {"x": merged, "n": 1}


def test_a_case_may_add_an_argument():
    [case] = cases({"arguments": {"BLOCK": 32}}, compilation=COMPILATION | {"constexprs": None})

    assert case.grid.evaluate({"n_elements": 96, "BLOCK": 32}) == [3, 1, 1]
    assert "BLOCK" in case.bound.arguments


def test_a_case_may_have_its_own_grid():
    first, second = cases({"grid": [7]}, {"grid": None})

    assert first.grid.evaluate({}) == [7, 1, 1]
    assert second.grid.names == {"n_elements", "BLOCK"}


REFERENCE = {"source": "def reference(x_ptr, **_): return x_ptr", "rtol": 0.5, "atol": 0.25}


def test_fields_of_a_reference_are_merged():
    first, second = cases({"reference": {"rtol": 0.125}}, {}, reference=REFERENCE)

    assert first.reference.source == REFERENCE["source"]
    assert (first.reference.rtol, first.reference.atol) == (0.125, 0.25)
    assert second.reference.rtol == 0.5


def test_another_way_to_a_reference_replaces_the_first():
    [case] = cases({"reference": {"compilation_key": "0" * 64, "grid": [1]}}, reference=REFERENCE)

    assert case.reference.source is None
    assert case.reference.compilation_key == "0" * 64


def test_a_reference_of_a_case_alone():
    first, second = cases({"reference": REFERENCE}, {})

    assert first.reference.atol == 0.25
    assert second.reference is None


def test_positions_are_names():
    arguments = {
        "compilation": None,
        "compilation_key": "0" * 64,
        "arguments": [OUTPUT, 5],
        "grid": [1],
    }
    first, second = cases({"arguments": [OUTPUT, 6]}, {"arguments": {"arg1": 7}}, **arguments)

    assert first.bound.arguments["arg1"].value == {"int": "6"}
    assert second.bound.arguments["arg1"].value == {"int": "7"}


def test_a_fault_of_the_launch_is_said_once_and_at_the_launch():
    broken = {"x_ptr": X | {"dtype": "fp31"}, "output_ptr": OUTPUT, "n_elements": 96}
    found = errors(lambda: cases({}, {}, {"arguments": {"n_elements": "x"}}, arguments=broken))

    assert [pointer for pointer, _ in found] == [
        "/arguments/x_ptr/dtype",
        "/cases/2/arguments/n_elements",
    ]


def test_a_launch_may_be_completed_by_its_cases():
    incomplete = {"x_ptr": {"dtype": "fp32", "init": {"kind": "zeros"}}, "output_ptr": OUTPUT}
    shapes = [{"arguments": {"x_ptr": {"shape": [size]}}, "grid": [1]} for size in (5, 6)]

    first, second = cases(*shapes, arguments=incomplete)

    assert (first.bound.allocations[0].elements, second.bound.allocations[0].elements) == (5, 6)


def test_a_hint_that_a_case_breaks_is_said_at_the_case():
    compilation = COMPILATION | {"signature": SIGNATURE}
    found = errors(lambda: cases({}, {"arguments": {"n_elements": 95}}, compilation=compilation))

    [(pointer, message)] = found
    assert pointer == "/cases/1/arguments/n_elements"
    assert message.startswith("is 95, not a multiple of 16; this breaks the hint divisible_by_16")


def test_arguments_by_position_are_pointed_at_by_position():
    ir = {"compilation": {"ir": {"language": "ttir", "text": "module {}"}, "target": "cuda:90"}}
    wrong = X | {"dtype": "fp12"}
    found = errors(
        lambda: cases(
            {"arguments": [X, wrong]}, {"arguments": {"arg1": wrong}}, {},
            arguments=[X, X | {"shape": [-1]}], grid=[1], **ir,
        )
    )  # fmt: skip

    assert [pointer for pointer, _ in found] == [
        "/cases/0/arguments/1/dtype", "/cases/1/arguments/arg1/dtype", "/arguments/1/shape/0",
    ]  # fmt: skip


def test_values_are_bounded_over_all_cases():
    values = {"shape": [60_000], "dtype": "i8", "init": {"kind": "values", "values": [1] * 60_000}}
    arguments = {"x_ptr": values, "output_ptr": OUTPUT, "n_elements": 96}
    [(pointer, message)] = errors(lambda: cases(*[{}] * 5, arguments=arguments))

    assert pointer == "/cases"
    assert "more than 262144 values; upload them" in message


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"arguments": {"n": [[1] * 200] * 100}}, "/arguments"),
        ({"arguments": {f"n{i}": 1 for i in range(200)}, "cases": [{}] * 100}, "/cases"),
        ({"cases": [{"arguments": {"n": {"tuple": [1] * 200}}}] * 100}, "/cases"),
    ],
)
def test_arguments_are_bounded_over_all_cases(changes: dict[str, Any], pointer: str):
    [(at, message)] = errors(lambda: resolved(**changes))

    assert at == pointer
    assert "more than 10000 arguments" in message


def test_cases_that_change_one_argument_bind_the_others_once(monkeypatch: pytest.MonkeyPatch):
    arguments = {f"b{index}": X for index in range(60)} | {"n_elements": 96}
    bound = []
    bind = argument_binding.bind_buffer
    monkeypatch.setattr(
        argument_binding, "bind_buffer", lambda *args: bound.append(args[0]) or bind(*args)
    )

    changes = [{"arguments": {"b7": {"shape": [index + 1]}}} for index in range(100)]
    found = cases(*changes, arguments=arguments, compilation={"source": "x"})

    assert len(bound) == 60 + 100 - 1
    assert found[40].bound.arguments["b7"].shape == [41]
    assert found[40].bound.arguments["b8"] == found[0].bound.arguments["b8"]
    assert [each.name for each in found[40].bound.allocations] == list(arguments)[:-1]


def test_a_buffer_that_has_another_number_in_a_case_is_bound_again():
    first, second = cases(
        {}, {"arguments": {"a": 5}}, arguments={"a": X, "b": X}, compilation={"source": "x"}
    )

    assert first.bound.arguments["b"].allocation == 1
    assert second.bound.arguments["b"].allocation == 0
    assert second.bound.allocations[0].name == "b"
