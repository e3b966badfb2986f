"""Grids are integers and small expressions, nothing else."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.rejection import RequestRejected
from launch.request.grid import parse_grid
from tests.unit.launch.request.launch_of_add import errors

VALUES = {
    "n": 1000,
    "BLOCK": 64,
    "NUM_SMS": 132,
    "big": 2**40,
    "x": 1.5,
    "flag": True,
    "quoted": "128",
}

EVALUATED: dict[str, tuple[list[Any], list[int]]] = {
    "integers": ([97, 2, 3], [97, 2, 3]),
    "one dimension": ([97], [97, 1, 1]),
    "cdiv": (["cdiv(n, BLOCK)"], [16, 1, 1]),
    "triton.cdiv": (["triton.cdiv(n, BLOCK)"], [16, 1, 1]),
    "arithmetic": (["(n + BLOCK - 1) // BLOCK * 2 % 100"], [32, 1, 1]),
    "min and max": (["min(NUM_SMS, max(n, 5, 7))"], [132, 1, 1]),
    "next power of 2": ([1, "next_power_of_2(n)"], [1, 1024, 1]),
    "next power of a power": (["next_power_of_2(BLOCK)"], [64, 1, 1]),
    "signs": (["-(-n)"], [1000, 1, 1]),
    "boolean": (["n * flag"], [1000, 1, 1]),
    "largest": ([2**31 - 1, 65535, 65535], [2**31 - 1, 65535, 65535]),
}


@pytest.mark.parametrize("name", EVALUATED)
def test_a_grid_is_evaluated(name: str):
    written, expected = EVALUATED[name]

    assert parse_grid(written).evaluate(VALUES) == expected


def test_a_grid_knows_the_names_it_needs():
    assert parse_grid(["cdiv(n, BLOCK)", 1, "min(n, NUM_SMS)"]).names == {"n", "BLOCK", "NUM_SMS"}


REFUSED: dict[str, tuple[Any, str, str]] = {
    "number": (97, "/grid", "list of one to three"),
    "empty": ([], "/grid", "list of one to three"),
    "four dimensions": ([1, 1, 1, 1], "/grid", "list of one to three"),
    "zero": ([0], "/grid/0", "0: is 0; dimension x must be from 1 to 2147483647"),
    "too large y": ([1, 65536], "/grid/1", "dimension y must be from 1 to 65535"),
    "beyond 64 bits": ([2**70], "/grid/0", "beyond 64 bits"),
    "float": ([1.0], "/grid/0", "a dimension is an integer or an expression"),
    "boolean": ([True], "/grid/0", "a dimension is an integer or an expression"),
    "null": ([None], "/grid/0", "a dimension is an integer or an expression"),
    "division": (["n / 2"], "/grid/0", "use // or cdiv(a, b)"),
    "power": (["9**9"], "/grid/0", "does not belong in a grid"),
    "hexadecimal": (["0x10"], "/grid/0", "a dimension is"),
    "fraction": (["1.5"], "/grid/0", "does not belong in a grid"),
    "unknown function": (["ceil(n)"], "/grid/0", 'no function "ceil"'),
    "method": (["n.bit_length()"], "/grid/0", "no function"),
    "attribute": (["n.real"], "/grid/0", "does not belong in a grid"),
    "call without arguments": (["cdiv(n)"], "/grid/0", "cdiv takes 2 arguments, not 1"),
    "starred": (["max(*n)"], "/grid/0", "max takes 2 to 8 arguments, not 1"),
    "keyword": (["cdiv(n, b=1)"], "/grid/0", "a dimension is"),
    "comparison": (["n if n else 1"], "/grid/0", "does not belong in a grid"),
    "string": (["'a'"], "/grid/0", "a dimension is"),
    "lambda": (["lambda meta: 1"], "/grid/0", "a dimension is"),
    "two expressions": (["1, 2"], "/grid/0", "does not belong in a grid"),
    "nothing": ([""], "/grid/0", "not an expression"),
    "unbalanced": (["(n"], "/grid/0", "not an expression"),
    "long": (["n+" * 200 + "n"], "/grid/0", "longer than 256 characters"),
    "many terms": (["n+" * 60 + "n"], "/grid/0", "more than 64 terms"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_invalid_grid_is_refused(name: str):
    written, at, message = REFUSED[name]
    [(pointer, said)] = errors(lambda: parse_grid(written))

    assert pointer == at
    assert message in said


FAILING: dict[str, tuple[str, str]] = {
    "unknown name": ("BLOCKS", 'no value named "BLOCKS". Did you mean `BLOCK`?'),
    "float": ("x", "x is 1.5, not an integer"),
    "string": ("cdiv(n, quoted)", 'quoted is the string "128", not an integer'),
    "division by zero": ("n // (BLOCK - 64)", "divides by zero"),
    "modulo zero": ("n % 0", "divides by zero"),
    "cdiv by zero": ("cdiv(n, 0)", "divides by zero"),
    "negative": ("BLOCK - n", "is -936 where BLOCK = 64, n = 1000; dimension y"),
    "too large": ("big * big", "beyond 64 bits"),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_grid_without_a_value_is_refused_where_it_stands(name: str):
    text, message = FAILING[name]
    [(pointer, said)] = errors(lambda: parse_grid([1, text], "/cases/3/grid").evaluate(VALUES))

    assert pointer == "/cases/3/grid/1"
    assert message in said
    assert text in said


def test_parentheses_do_not_count_as_terms():
    assert parse_grid(["(" * 50 + "n" + ")" * 50]).evaluate(VALUES) == [1000, 1, 1]


@given(st.text(max_size=40))
def test_any_text_is_a_grid_or_refused(text: str):
    with suppress(RequestRejected):
        assert all(name.isidentifier() for name in parse_grid([text]).names)


@given(st.integers(1, 2**40), st.integers(1, 2**20))
def test_cdiv_covers_every_element_with_no_block_too_many(n: int, block: int):
    [dimension] = parse_grid(["cdiv(n, b)"]).dimensions
    blocks = dimension.value({"n": n, "b": block})

    assert (blocks - 1) * block < n <= blocks * block
