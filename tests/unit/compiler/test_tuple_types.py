"""Tuple types split into plain types, hints and constants, by path."""

from compiler.specialization import item_constants, item_hints, plain_type, with_suffix

PAIR = ["*fp32:16", ["i32:1", None, "i64:16"], "fp32"]


def test_a_plain_type_has_no_suffixes():
    assert plain_type(PAIR) == ["*fp32", ["constexpr", "constexpr", "i64"], "fp32"]


def test_the_type_of_no_tuple_is_plain():
    assert plain_type("*fp32") == "*fp32"


def test_hints_have_paths():
    expected = {"pair.0": ["divisible_by_16"], "pair.1.2": ["divisible_by_16"]}

    assert item_hints("pair", PAIR) == expected


def test_constants_have_paths():
    assert item_constants("pair", PAIR) == {"pair.1.0": {"int": "1"}, "pair.1.1": None}


def test_only_a_tuple_has_items():
    assert item_hints("n", "i32") == {}
    assert item_constants("n", "i32") == {}


def test_hints_are_written_as_suffixes():
    assert with_suffix("i32", frozenset({"divisible_by_16"})) == "i32:16"
    assert with_suffix("i32", frozenset({"equal_to_1"})) == "i32:1"
    assert with_suffix("i32", frozenset()) == "i32"
