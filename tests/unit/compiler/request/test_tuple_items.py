"""Hints and constants of tuple items, by path."""

from typing import Any

import pytest

from compiler.parameter_binding import bind
from compiler.rejection import RequestRejected
from compiler.request.signature import parse_specialization
from compiler.specialization import Specialization, SpecializedParameter

PAIR = {"pair": ["*fp32", "i32", ["i64", "constexpr"]]}


def read(
    hints: dict[str, list[str]] | None = None, constexprs: dict[str, Any] | None = None
) -> Specialization:
    return parse_specialization(PAIR, hints, {"pair.2.1": 4} | (constexprs or {}))


def test_a_constant_item_has_its_value_by_path():
    assert read().named == {
        "pair": SpecializedParameter(["*fp32", "i32", ["i64", {"constexpr": {"int": "4"}}]])
    }


def test_any_item_may_be_a_constant():
    kind = read(constexprs={"pair.1": True, "pair.2.0": None}).named["pair"].type

    assert kind == ["*fp32", {"constexpr": True}, [None, {"constexpr": {"int": "4"}}]]


def test_a_hint_by_path_is_a_suffix():
    by_path = read(hints={"pair.0": ["divisible_by_16"], "pair.1": ["equal_to_1"]})

    assert by_path.named["pair"].type == ["*fp32:16", "i32:1", ["i64", {"constexpr": {"int": "4"}}]]


def test_the_request_of_a_specialization_means_the_same():
    specialization = read(hints={"pair.0": ["divisible_by_16"]})

    assert parse_specialization(**specialization.to_request()) == specialization


def test_constants_reach_the_front_end_by_path():
    facts = [{"name": "pair", "constexpr": False, "default": None}]

    binding = bind("kernel", facts, read(constexprs={"pair.1": "relu"}))

    assert binding.signature == {"pair": ["*fp32", "constexpr", ["i64", "constexpr"]]}
    assert binding.constexprs == {"pair.1": "relu", "pair.2.1": {"int": "4"}}


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "constant without a value": ({"signature": {"t": ["constexpr"]}}, "/signature/t/0"),
    "no item": ({"signature": {"t": ["i32"]}, "constexprs": {"t.1": 1}}, "/constexprs/t.1"),
    "no tuple": ({"signature": {"t": "i32"}, "constexprs": {"t.0": 1}}, "/constexprs/t.0"),
    "a whole tuple": (
        {"signature": {"t": [["i32"]]}, "constexprs": {"t.0": 1}},
        "/constexprs/t.0",
    ),
    "no path": ({"signature": {"t": ["i32"]}, "constexprs": {"t.x": 1}}, "/constexprs/t.x"),
    "no value": (
        {"signature": {"t": ["i32"]}, "constexprs": {"t.0": {"x": 1}}},
        "/signature/t/0/constexpr",
    ),
    "no such hint": ({"signature": {"t": ["i32"]}, "hints": {"t.0": ["even"]}}, "/hints/t.0/0"),
    "hint of a constant": (
        {"signature": {"t": ["i32:1"]}, "hints": {"t.0": ["divisible_by_16"]}},
        "/signature/t/0",
    ),
}


@pytest.mark.parametrize(("fields", "pointer"), REFUSED.values(), ids=REFUSED)
def test_an_invalid_item_is_refused(fields: dict[str, Any], pointer: str):
    with pytest.raises(RequestRejected) as refused:
        parse_specialization(fields.get("signature"), fields.get("hints"), fields.get("constexprs"))

    assert pointer in [error.pointer for error in refused.value.errors]
