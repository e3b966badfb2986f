"""Signature, hints and constexprs: parsed, refused with a location, and serialized."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.rejection import RequestRejected
from compiler.request.signature import parse_specialization
from compiler.specialization import Specialization, SpecializedParameter
from compiler.type_name import SCALARS

DIVISIBLE = frozenset({"divisible_by_16"})


def test_a_signature_by_name_gives_types_and_hints():
    read = parse_specialization({"x_ptr": "*fp32:16", "n": "i32", "k": "i64:1"}, None, None)

    assert read.named == {
        "x_ptr": SpecializedParameter("*fp32", DIVISIBLE),
        "n": SpecializedParameter("i32"),
        "k": SpecializedParameter("i64", frozenset({"equal_to_1"})),
    }


def test_hints_add_to_suffixes():
    read = parse_specialization({"x_ptr": "*fp32:16"}, {"x_ptr": ["pointer_range_32"]}, None)

    assert read.named["x_ptr"].hints == {"divisible_by_16", "pointer_range_32"}


def test_tuples_are_lists_of_types():
    read = parse_specialization({"pair": ["*float16", ["i32", "torch.int64"]]}, None, None)

    assert read.named == {"pair": SpecializedParameter(["*fp16", ["i32", "i64"]])}


def test_items_of_tuples_carry_hints_as_suffixes_and_null_is_a_constant():
    read = parse_specialization({"pair": ["*float32:16", ["int:1", None]]}, None, None)

    assert read.named == {"pair": SpecializedParameter(["*fp32:16", ["i32:1", None]])}


def test_constexprs_may_name_any_parameter():
    read = parse_specialization(None, None, {"BLOCK_SIZE": 1024, "n": None})

    assert read.named == {
        "BLOCK_SIZE": SpecializedParameter(value={"int": "1024"}, is_constexpr=True),
        "n": SpecializedParameter(value=None, is_constexpr=True),
    }


def test_constexpr_in_a_signature_says_nothing_of_its_value():
    read = parse_specialization({"x_ptr": "*fp32", "BLOCK": "constexpr"}, None, {"BLOCK": 2})

    assert read.named["BLOCK"] == SpecializedParameter(value={"int": "2"}, is_constexpr=True)


def test_the_string_of_triton_tools_compile_gives_parameters_by_position():
    read = parse_specialization("*fp32:16, i32:1, 1024, 0.5, True, -1", None, {"EPS": 1.0})

    assert read.positional == (
        SpecializedParameter("*fp32", DIVISIBLE),
        SpecializedParameter("i32", frozenset({"equal_to_1"})),
        SpecializedParameter(value={"int": "1024"}, is_constexpr=True),
        SpecializedParameter(value={"float": "0x1.0000000000000p-1"}, is_constexpr=True),
        SpecializedParameter(value=True, is_constexpr=True),
        SpecializedParameter(value={"int": "-1"}, is_constexpr=True),
    )
    assert read.named.keys() == {"EPS"}


def test_constants_by_position_may_be_none_and_infinite():
    read = parse_specialization("None, inf, -inf, nan", None, None)

    assert [parameter.value for parameter in read.positional] == [
        *(None, {"float": "inf"}, {"float": "-inf"}, {"float": "nan"})
    ]


def test_a_number_by_position_that_is_too_large_is_not_taken_for_infinity():
    with pytest.raises(
        RequestRejected, match=r'^/signature: position 0: "1e400" is too large for a float'
    ):
        parse_specialization("1e400", None, None)


def test_commas_of_a_descriptor_do_not_separate_parameters():
    read = parse_specialization("tensordesc<fp16[64, 128]>, i32", None, None)

    assert read.positional == (
        SpecializedParameter("tensordesc<fp16[64,128]>"),
        SpecializedParameter("i32"),
    )


@pytest.mark.parametrize("signature", [None, {}, "", "  "])
def test_nothing_is_a_specialization_too(signature: Any):
    assert parse_specialization(signature, {}, {}) == Specialization()


def test_unicode_parameters_are_parameters():
    assert parse_specialization({"größe": "i32"}, None, {"Δ": 1}).named.keys() == {"größe", "Δ"}


SIGNATURE = "must be an object of types by parameter name, or a string of types by position"
TYPE = "a type is a string such as '*fp32:16', or a list of them"
TUPLE = "tuples hold at most 256 items and nest 8 deep"
SUFFIX = "after ':' is not a hint; write :16 (divisible by 16) or :1 (equal to 1)"
HINTS = "divisible_by_16, equal_to_1, pointer_range_32"
REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "list": ({"signature": ["*fp32"]}, "/signature", SIGNATURE),
    "number": ({"signature": 1}, "/signature", SIGNATURE),
    "false": ({"signature": False}, "/signature", SIGNATURE),
    "type that is null": ({"signature": {"x": None}}, "/signature/x", TYPE),
    "type that is a number": ({"signature": {"n": 1024}}, "/signature/n", TYPE),
    "type in a tuple": ({"signature": {"t": ["i32", 32]}}, "/signature/t/1", TYPE),
    "deep tuple": ({"signature": {"t": [[[[[[[[[]]]]]]]]]}}, "/signature/t" + "/0" * 8, TUPLE),
    "long tuple": ({"signature": {"t": ["i32"] * 257}}, "/signature/t", TUPLE),
    "no hint in a tuple": ({"signature": {"t": ["i32:8"]}}, "/signature/t/0", f'"8" {SUFFIX}'),
    "no hint": ({"signature": {"n": "i32:8"}}, "/signature/n", f'"8" {SUFFIX}'),
    "nothing after the colon": ({"signature": {"n": "i32:"}}, "/signature/n", f'"" {SUFFIX}'),
    "two suffixes": ({"signature": {"n": "i32:16:1"}}, "/signature/n", f'"16:1" {SUFFIX}'),
    "float divisible by 16": (
        {"signature": {"x": "fp32:16"}},
        "/signature/x",
        "divisible_by_16 does not apply to a parameter of type fp32",
    ),
    "pointer equal to 1": (
        {"signature": {"x": "*fp32:1"}},
        "/signature/x",
        "equal_to_1 does not apply to a parameter of type *fp32",
    ),
    "both": (
        {"signature": {"n": "i32:1"}, "hints": {"n": ["divisible_by_16"]}},
        "/hints/n/0",
        "nothing is equal to 1 and divisible by 16",
    ),
    "unknown hint": (
        {"signature": {"n": "i32"}, "hints": {"n": ["divisible_by_16", "divisible_by_8"]}},
        "/hints/n/1",
        f'"divisible_by_8" is not a hint; there are {HINTS}',
    ),
    "hint on a tuple": (
        {"signature": {"t": ["i32"]}, "hints": {"t": ["divisible_by_16"]}},
        "/hints/t/0",
        "divisible_by_16 does not apply to a tuple",
    ),
    "hint without a type": (
        {"hints": {"x": ["divisible_by_16"]}},
        "/hints/x",
        '"x" has no type in `signature` that a hint could belong to',
    ),
    "empty name": ({"signature": {"": "i32"}}, "/signature/", '"" is not a parameter name'),
    "no name": ({"signature": {"a b": "i32"}}, "/signature/a b", '"a b" is not a parameter name'),
    "no name of a constexpr": (
        {"constexprs": {"a/b": 1}},
        "/constexprs/a~1b",
        '"a/b" is not a parameter name',
    ),
    "type and value": (
        {"signature": {"n": "i32"}, "constexprs": {"n": 1}},
        "/constexprs/n",
        '"n" has a type in `signature` and a value here; leave it out of one of them '
        "(a constexpr is not passed at launch)",
    ),
    "number by position": (
        {"signature": f"i32, {2**64}"},
        "/signature",
        "position 1: 18446744073709551616 does not fit in 64 bits",
    ),
    "infinity by position": (
        {"signature": "1e999"},
        "/signature",
        'position 0: "1e999" is too large for a float; infinity is written "inf"',
    ),
    "suffix by position": ({"signature": "i32:2"}, "/signature", f'position 0: "2" {SUFFIX}'),
    "many parameters": (
        {"signature": {f"x{index}": "i32" for index in range(1025)}},
        "/signature",
        "more than 1024 parameters",
    ),
    "many constexprs": (
        {"constexprs": {f"X{index}": 1 for index in range(1025)}},
        "/constexprs",
        "more than 1024 parameters",
    ),
    "many in all": (
        {
            "signature": {f"x{index}": "i32" for index in range(800)},
            "constexprs": {f"X{index}": 1 for index in range(800)},
        },
        "/signature",
        "more than 1024 parameters",
    ),
    "many by position": (
        {"signature": "i32," * 1024 + "i32"},
        "/signature",
        "more than 1024 parameters",
    ),
    "long signature": (
        {"signature": " " * 65_537},
        "/signature",
        "a signature of more than 65536 characters",
    ),
}


@pytest.mark.parametrize(("fields", "at", "message"), REFUSED.values(), ids=REFUSED)
def test_an_invalid_specialization_is_refused(fields: dict[str, Any], at: str, message: str):
    with pytest.raises(RequestRejected) as rejected:
        parse(**fields)

    assert [(error.pointer, error.message) for error in rejected.value.errors] == [(at, message)]


@pytest.mark.parametrize(
    "signature", ["i32,", ",", "i32,,i32", "float33", "tensordesc<fp16[64,64]"]
)
def test_a_position_without_a_type_is_refused(signature: str):
    with pytest.raises(RequestRejected, match=r"^/signature: position \d: .* is not a Triton type"):
        parse_specialization(signature, None, None)


def test_every_fault_is_found_at_once():
    with pytest.raises(RequestRejected) as rejected:
        parse_specialization({"x": "fp33", "n": "i32:7"}, {"y": []}, {"B": {}, "C": 2**70})

    assert [error.pointer for error in rejected.value.errors] == [
        *("/signature/x", "/signature/n", "/hints/y", "/constexprs/B", "/constexprs/C")
    ]


def test_the_type_is_still_there_when_one_of_its_hints_is_wrong():
    with pytest.raises(RequestRejected) as rejected:
        parse_specialization({"x": "*fp32"}, {"x": ["a", "b"]}, {"x": 1})

    assert [error.pointer for error in rejected.value.errors] == [
        *("/hints/x/0", "/hints/x/1", "/constexprs/x")
    ]


def parse(signature: Any = None, hints: Any = None, constexprs: Any = None) -> Specialization:
    return parse_specialization(signature, hints, constexprs)


names = st.from_regex(r"[a-z][a-z0-9_]{0,6}", fullmatch=True)
integers = st.integers(min_value=-(2**63), max_value=2**64 - 1)
floats = st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | integers | floats | st.text(max_size=8)
    | st.sampled_from([{"float": "nan"}, {"float": "-inf"}, {"dtype": "bf16"}, {"function": "f"}]),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
types = st.sampled_from(
    [*SCALARS, "*fp32", "*kfp16:16", "i32:1", "u64:16", ["i32", ["*fp32"]], "tensordesc<fp16[8,8]>"]
)
by_name = st.dictionaries(names, types, max_size=4)
entries = st.one_of(
    types.filter(lambda written: isinstance(written, str)), integers.map(str), floats.map(repr),
    st.booleans().map(str), st.sampled_from(["None", "inf", "-inf", "nan"]),
)  # fmt: skip
by_position = st.lists(entries, max_size=4).map(", ".join)


@given(by_name | by_position, st.dictionaries(names.map(str.upper), values, max_size=4))
def test_a_specialization_survives_the_queue_and_the_way_back(signature: Any, constexprs: Any):
    read = parse(signature, None, constexprs)

    assert Specialization.from_json(read.to_json()) == read
    assert parse(**read.to_request()) == read


def test_without_alignments_what_is_equal_to_1_stays():
    signature = {"x": "*fp32:16", "n": "i32:16", "one": "i32:1", "pair": ["*fp32:16", ["i32:1"]]}
    read = parse_specialization(signature, {"x": ["pointer_range_32"]}, {"BLOCK": 16})

    assert read.unaligned.named == {
        "x": SpecializedParameter("*fp32"),
        "n": SpecializedParameter("i32"),
        "one": SpecializedParameter("i32", frozenset({"equal_to_1"})),
        "pair": SpecializedParameter(["*fp32", ["i32:1"]]),
        "BLOCK": SpecializedParameter(value={"int": "16"}, is_constexpr=True),
    }
    assert parse_specialization("*fp32:16, 64", None, None).unaligned.positional[0].hints == set()
