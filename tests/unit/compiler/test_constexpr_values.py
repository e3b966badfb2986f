"""Constexpr values: accepted JSON, the internal tagged form, and answers."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.constexpr import canonical_value, function_names, plain_value, written_value
from compiler.rejection import RequestRejected
from compiler.request.signature import parse_specialization

INSIDE: dict[str, tuple[Any, Any]] = {
    "null": (None, None),
    "true": (True, True),
    "string": ("relu", "relu"),
    "empty string": ("", ""),
    "integer": (1024, {"int": "1024"}),
    "negative integer": (-1, {"int": "-1"}),
    "zero": (0, {"int": "0"}),
    "smallest": (-(2**63), {"int": "-9223372036854775808"}),
    "largest": (2**64 - 1, {"int": "18446744073709551615"}),
    "float": (1.5, {"float": "0x1.8000000000000p+0"}),
    "negative zero": (-0.0, {"float": "-0x0.0p+0"}),
    "list": ([1, [True]], {"tuple": [{"int": "1"}, {"tuple": [True]}]}),
    "empty list": ([], {"tuple": []}),
    "tagged integer": ({"int": "9223372036854775807"}, {"int": "9223372036854775807"}),
    "tagged integer as a number": ({"int": 7}, {"int": "7"}),
    "tagged integer with a plus": ({"int": "+7"}, {"int": "7"}),
    "tagged float as an integer": ({"float": 2}, {"float": "0x1.0000000000000p+1"}),
    "tagged float as a decimal": ({"float": "0.5"}, {"float": "0x1.0000000000000p-1"}),
    "tagged float in hexadecimal": ({"float": "0x1.8p+1"}, {"float": "0x1.8000000000000p+1"}),
    "infinity": ({"float": "inf"}, {"float": "inf"}),
    "Infinity": ({"float": "Infinity"}, {"float": "inf"}),
    "minus infinity": ({"float": "-inf"}, {"float": "-inf"}),
    "not a number": ({"float": "NaN"}, {"float": "nan"}),
    "tagged tuple": ({"tuple": [{"float": 1}]}, {"tuple": [{"float": "0x1.0000000000000p+0"}]}),
    "dtype": ({"dtype": "bfloat16"}, {"dtype": "bf16"}),
    "function": ({"function": "relu"}, {"function": "relu"}),
}


@pytest.mark.parametrize(("raw", "tagged"), INSIDE.values(), ids=INSIDE)
def test_a_value_has_one_tagged_form(raw: Any, tagged: Any):
    assert canonical_value(raw, "/constexprs/X") == tagged


@pytest.mark.parametrize(("raw", "tagged"), INSIDE.values(), ids=INSIDE)
def test_a_value_can_be_written_back_into_a_request(raw: Any, tagged: Any):
    assert canonical_value(written_value(tagged), "") == tagged


ANY = (
    "not a constexpr value. Write a number, a string, true, false, null, a list (a tuple), or one "
    'of {"int": "9223372036854775807"}, {"float": "-inf"}, {"dtype": "bf16"}, {"function": "relu"}.'
)
REFUSED: dict[str, tuple[Any, str, str]] = {
    "too large": (2**64, "", "18446744073709551616 does not fit in 64 bits"),
    "too small": (-(2**63) - 1, "", "-9223372036854775809 does not fit in 64 bits"),
    "huge": (10**5000, "", "an integer of 16610 bits does not fit in 64 bits"),
    "tagged and too large": ({"int": 2**64}, "", "18446744073709551616 does not fit in 64 bits"),
    "too large a float": (
        math.inf,  # the value of 1e400
        "",
        'a number that is too large for a float; infinity is written {"float": "inf"}',
    ),
    "no integer": ({"int": "12.5"}, "/int", '"12.5" is not an integer'),
    "digits of Python only": ({"int": "1_000"}, "/int", '"1_000" is not an integer'),
    "digits of another script": ({"int": "١٢"}, "/int", '"١٢" is not an integer'),
    "boolean as integer": ({"int": True}, "/int", "true is not an integer"),
    "null as integer": ({"int": None}, "/int", "null is not an integer"),
    "no float": (
        {"float": "one"},
        "/float",
        '"one" is not a float; write a number, "inf", "-inf" or "nan"',
    ),
    "float in digits of Python only": (
        {"float": "1_0.5"},
        "/float",
        '"1_0.5" is not a float; write a number, "inf", "-inf" or "nan"',
    ),
    "infinity by overflow": (
        {"float": "1e400"},
        "/float",
        '"1e400" is too large for a float; infinity is written "inf"',
    ),
    "integer too large for a float": (
        {"float": 10**400},
        "/float",
        'an integer of 1329 bits is not a float; write a number, "inf", "-inf" or "nan"',
    ),
    "boolean as float": (
        {"float": False},
        "/float",
        'false is not a float; write a number, "inf", "-inf" or "nan"',
    ),
    "long string": ("x" * 4097, "", "a string of more than 4096 characters"),
    "long list": ([0] * 257, "", "tuples hold at most 256 items and nest 8 deep"),
    "deep list": ([[[[[[[[[]]]]]]]]], "/0" * 8, "tuples hold at most 256 items and nest 8 deep"),
    "item": ([1, [2, {}]], "/1/1", ANY),
    "item of a tagged tuple": ({"tuple": [1, {}]}, "/tuple/1", ANY),
    "object": ({}, "", ANY),
    "two tags": ({"int": "1", "float": "1"}, "", ANY),
    "unknown tag": ({"complex": "1j"}, "", ANY),
    "tuple that is none": ({"tuple": "ab"}, "", ANY),
    "code as a function": ({"function": "relu()"}, "", ANY),
    "null as a dtype": ({"dtype": None}, "", ANY),
}


@pytest.mark.parametrize(("raw", "at", "message"), REFUSED.values(), ids=REFUSED)
def test_an_invalid_value_is_refused_with_its_pointer(raw: Any, at: str, message: str):
    with pytest.raises(RequestRejected) as rejected:
        canonical_value(raw, "/constexprs/X")

    assert [(error.pointer, error.message) for error in rejected.value.errors] == [
        ("/constexprs/X" + at, message)
    ]


def test_an_unknown_dtype_is_refused_with_what_there_is():
    with pytest.raises(RequestRejected, match=r'/X/dtype: "fp12" is not a Triton type\. Did you'):
        canonical_value({"dtype": "fp12"}, "/X")


SHOWN: dict[str, tuple[Any, Any]] = {
    "null": (None, None),
    "false": (False, False),
    "string": ("relu", "relu"),
    "integer": ({"int": "1024"}, 1024),
    "2^53": ({"int": "9007199254740992"}, 2**53),
    "beyond 2^53": ({"int": "9007199254740993"}, "9007199254740993"),
    "beyond -2^53": ({"int": "-9007199254740993"}, "-9007199254740993"),
    "float": ({"float": "0x1.8p+0"}, 1.5),
    "float zero": ({"float": "0x0.0p+0"}, 0.0),
    "not a number": ({"float": "nan"}, "NaN"),
    "infinity": ({"float": "inf"}, "Infinity"),
    "minus infinity": ({"float": "-inf"}, "-Infinity"),
    "tuple": ({"tuple": [{"int": "1"}, {"tuple": []}]}, [1, []]),
    "dtype": ({"dtype": "bf16"}, {"dtype": "bf16"}),
}


@pytest.mark.parametrize(("tagged", "shown"), SHOWN.values(), ids=SHOWN)
def test_answers_show_values_in_finite_json(tagged: Any, shown: Any):
    plain = plain_value(tagged)

    assert (type(plain), plain) == (type(shown), shown)


def test_the_functions_that_values_name_are_found():
    specialization = parse_specialization(
        {"x_ptr": "*fp32"}, None, {"F": {"function": "relu"}, "G": [1, [{"function": "exp"}]]}
    )

    assert function_names(specialization.to_json()) == ["exp", "relu"]


def test_a_parameter_called_function_is_no_function():
    only = parse_specialization("*fp32", None, {"function": {"function": "relu"}})
    text = parse_specialization("*fp32", None, {"function": "relu"})

    assert function_names(only.to_json()) == ["relu"]
    assert function_names(text.to_json()) == []


@given(st.integers(min_value=-(2**63), max_value=2**64 - 1))
def test_no_integer_of_64_bits_loses_a_digit(number: int):
    assert int(canonical_value(number, "")["int"]) == number


@given(st.floats(allow_infinity=False, allow_nan=False))
def test_no_finite_float_loses_a_bit(number: float):
    assert float.fromhex(canonical_value(number, "")["float"]).hex() == number.hex()
