"""Heuristics' expressions: values for given arguments, and errors."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any

import pytest
import triton
from hypothesis import given
from hypothesis import strategies as st

from launch.expression import Expression, OpaqueArgument, read_expression
from launch.formula import FormulaFailed
from sweeps.autotune.heuristics import BOUNDS


def read(text: str) -> Expression:
    return read_expression(text, BOUNDS)


VALUES = {"N": 4096, "BLOCK": 128, "h0": None, "x": OpaqueArgument("x"), "ACT": "relu", "eps": 0.5}

KNOWN: dict[str, Any] = {
    "N % BLOCK == 0": True,
    "N % 100 == 0 and BLOCK < N": False,
    "not N": False,
    "max(16, next_power_of_2(BLOCK + 1))": 256,
    "cdiv(N, 1000)": 5,
    "4 if N <= 1024 else 8": 8,
    "h0 is not None": False,
    "x is not None": True,
    "x is None or N == 1": False,
    "1 < BLOCK <= 128": True,
    "ACT == 'relu'": True,
    "BLOCK in (64, 128)": True,
    "BLOCK not in (64, 128)": False,
    "N / 2": 2048.0,
    "2 ** 10 - -1": 1025,
    "h0 or 7": 7,
    "BLOCK and N": 4096,
    "eps * 2 >= 1": True,
    "1 << 4 | 3": 19,
    "min(N, 7, BLOCK)": 7,
}


@pytest.mark.parametrize(("text", "value"), KNOWN.items())
def test_an_expression_is_what_python_makes_of_it(text: str, value: Any) -> None:
    found = read(text).value(VALUES)

    assert (found, type(found)) == (value, type(value))


@given(st.integers(-5, 1 << 31), st.integers(1, 1 << 20))
def test_the_functions_are_tritons_own(n: int, by: int) -> None:
    expression = read("cdiv(n, by) + next_power_of_2(n)")

    expected = triton.cdiv(n, by) + triton.next_power_of_2(n)

    assert expression.value({"n": n, "by": by}) == expected


WITHOUT_VALUE = {
    "M % 2 == 0": "needs M, whose value the request does not give",
    "N // 0": "divides by zero",
    "x + 1": "computes with x, which is not a number",
    "x == 1": "compares x, which is not a number",
    "x and N": "asks whether x is true",
    "1 if x else 2": "asks whether x is true",
    "x": "x must be a number",
    "ACT < 'z'": '"relu" has no order',
    "ACT + 1": 'computes with "relu"',
    "N ** N ** N": "a power of more than 256 bits",
    "1 << 99999999999": "a shift by more than 256 bits",
    "2 ** 120 * 2 ** 120 * 2 ** 120": "the result has more than 256 bits",
    "(0 - 8) ** 0.5": "makes a complex number",
    "min(1)": "min takes 2 to 8 arguments, not 1",
    "print(1)": 'there is no function "print"',
    "N is 4096": "`is` asks for None, True and False only",
}


@pytest.mark.parametrize(("text", "why"), WITHOUT_VALUE.items())
def test_an_expression_without_a_value_has_a_reason(text: str, why: str) -> None:
    with pytest.raises(FormulaFailed) as caught:
        read(text).value(VALUES)

    assert why in str(caught.value)


NONE = [
    "N.__class__", "constexprs.N", "lambda: 1", "N[0]", "(yield)", "f'{N}'", "N := 1", "", "1 +",
    "{1: 2}", "(" * 400, "-" * 900 + "1", "N" * 1001, "*N", "1if N else 2", "0x10", "N.real",
    "not " * 190 + "N", "print(" + "-" * 190 + "N)", "N" + "(" * 120 + ")" * 120, "N == 'é'",
    "min(N, key=N)", "(lambda: 1)()", "triton.jit(N)", "b'N'", "1j", "...", "N == '\\d'",
]  # fmt: skip


@pytest.mark.parametrize("text", NONE)
def test_an_invalid_expression_is_refused_when_read(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # warnings of Python's parser would end up in a log
        with pytest.raises(FormulaFailed):
            read(text)


@pytest.mark.parametrize(
    "text", ["N + 1e-05", "2.5e3 * N", "N == 'sm100a' or N > 0", "-" * 120 + "N"]
)
def test_numbers_and_texts_are_read_as_python_writes_them(text: str) -> None:
    assert read(text).value({"N": 3}) is not None


@given(st.text(alphabet="N01 ()[]{}<>=!+-*/%,.'\"andortifelsw:&|^~\\", max_size=60))
def test_any_text_has_a_value_or_is_refused(text: str) -> None:
    with suppress(FormulaFailed):
        read(text).value({"N": 4096, "a": OpaqueArgument("a")})
