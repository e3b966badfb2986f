"""Heuristics as expressions: simple ones use bare names, others get a reason."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import pytest

from compiler.front.heuristic_text import NotPlain, plain_expression

HEAD = "import math, triton\nimport triton.language as tl\nLIMIT = 4096\nSCALE = tl.constexpr(2)\n"
PATH = "/kernel/heuristics.py"


def heuristic(text: str) -> Callable[..., Any]:
    """Return `h` of a posted module."""
    linecache.cache[PATH] = (len(HEAD + text), None, (HEAD + text).splitlines(True), PATH)
    namespace: dict[str, Any] = {}
    exec(compile(HEAD + text, PATH, "exec"), namespace)
    found: Callable[..., Any] = namespace["h"]
    return found


PLAIN = {
    "divisibility": ('h = lambda args: args["N"] % args["BLOCK"] == 0', "N % BLOCK == 0"),
    "another name": ('h = lambda nargs: nargs["N"] == 1', "N == 1"),
    "cdiv": ('h = lambda a: triton.cdiv(a["N"], 2)', "cdiv(N, 2)"),
    "next power": (
        'h = lambda a: max(16, triton.next_power_of_2(a["N"]))',
        "max(16, next_power_of_2(N))",
    ),
    "a pointer that is not there": ('h = lambda a: a["h0"] is not None', "h0 is not None"),
    "a choice": ('h = lambda a: 4 if a["N"] <= LIMIT else 8', "4 if N <= 4096 else 8"),
    "a constexpr of the module": ('h = lambda a: a["N"] * SCALE', "N * 2"),
    "a constant of a module": ('h = lambda a: a["x"] < math.inf', "x < 1e309"),
    "both": ('h = lambda a: not (a["A"] and a["B"]) or a["C"] > -1', "not (A and B) or C > -1"),
    "one of several": ('h = lambda a: a["D"] in [16, 32]', "D in (16, 32)"),
    "a text": ("h = lambda a: a['ACT'] == 'relu'", "ACT == 'relu'"),
    "a function": ('def h(args):\n    """Even."""\n    return args["N"] % 2 == 0', "N % 2 == 0"),
    "the second of its line": ('g, h = lambda a: a["N"], lambda a: a["M"]', "M"),
    "the same twice on its line": ('g, h = (lambda a: a["N"]), (lambda a: a["N"])', "N"),
    "a number that only who evaluates it bounds": ("h = lambda a: 1 << 2 ** 99", "1 << 2 ** 99"),
    "a variable of a function": (
        'def make(k):\n    return lambda a: a["N"] % k == 0\nh = make(8)',
        "N % 8 == 0",
    ),
}


@pytest.mark.parametrize(("text", "expression"), PLAIN.values(), ids=PLAIN)
def test_a_plain_heuristic_is_an_expression(text: str, expression: str) -> None:
    assert plain_expression(heuristic(text)) == expression


NOT_PLAIN = {
    "a method": ('h = lambda a: a["x"].element_size()', "it calls `a['x'].element_size`"),
    "an attribute": ('h = lambda a: a["x"].shape[0]', "more than arithmetic"),
    "a function of the module": (
        'def warps(n):\n    return n\nh = lambda a: warps(a["N"])',
        "it calls `warps`: only triton.cdiv",
    ),
    "a comprehension": ('h = lambda a: [n for n in a["N"]]', "more than arithmetic"),
    "statements": (
        "def h(args):\n    n = args['N']\n    return n",
        "the function h does more than return an expression",
    ),
    "the mapping itself": ("h = lambda a: len(a)", "it calls `len`"),
    "a name that is nowhere": ("h = lambda a: UNKNOWN", "`UNKNOWN` is neither an argument"),
    "a computed name": ("h = lambda a: a['A' + 'B']", "more than arithmetic"),
    "a type": ("h = lambda a: a['T'] == tl.float16", "is a dtype, neither a number"),
    "two parameters": ("h = lambda a, b=1: a['N']", "its only parameter must be"),
    "a built-in": ("h = bool", "not a lambda in it"),
    "another `min`": ("min = lambda *_: 1\nh = lambda a: min(1, 2)", "it calls `min`"),
    "too many terms": (f"h = lambda a: {' + '.join(['1'] * 600)}", "terms and operators, more"),
    "too long": (f"h = lambda a: a['N'] == '{'x' * 1000}'", "characters, more than 1000"),
}


@pytest.mark.parametrize(("text", "why"), NOT_PLAIN.values(), ids=NOT_PLAIN)
def test_another_one_says_why_it_is_none(text: str, why: str) -> None:
    with pytest.raises(NotPlain) as caught:
        plain_expression(heuristic(text))

    assert why in str(caught.value)
