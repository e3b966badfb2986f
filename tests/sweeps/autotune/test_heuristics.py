"""Heuristics of a variant are evaluated last, over the values of its request."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.rejection import RequestRejected
from sweeps.autotune.heuristics import Heuristics
from tests.sweeps.autotune.readings import heuristic, reading

EVEN = heuristic("EVEN", "M % BM == 0 and N % BN == 0")
LAUNCH: dict[str, Any] = {
    "compilation": {"source": "...", "constexprs": {"BM": 64, "BN": 32}, "options": {}},
    "arguments": {
        "a": {"shape": [4096], "dtype": "fp16"},
        "M": 128,
        "N": {"value": 64, "dtype": "i64"},
    },
    "grid": [1],
}


def applied(body: dict[str, Any], *heuristics: Any, **options: Any) -> tuple[Any, Any]:
    found = Heuristics(reading(heuristics=list(heuristics))).applied(body, **options)
    return dict(found.constexprs), dict(found.options)


def test_a_launch_says_the_arguments() -> None:
    assert applied(LAUNCH, EVEN) == ({"EVEN": True}, {})


def test_a_compilation_says_constexprs_and_which_pointers_there_are() -> None:
    body = {
        "signature": {"a": "*fp16:16", "M": "i32:1", "N": "i32"},
        "constexprs": {"BM": 64, "b": None},
    }
    heuristics = [
        heuristic("HAS_A", "a is not None"),
        heuristic("HAS_B", "b is not None"),
        heuristic("BN", "M * BM"),
    ]

    assert applied(body, *heuristics) == ({"BN": 64}, {"HAS_A": True, "HAS_B": False})


def test_a_signature_by_position_says_as_much() -> None:
    body = {"signature": "*fp16:16, i32, 1024", "constexprs": {"BM": 64}}

    assert applied(body, heuristic("EVEN", "N % BM == 0 and a is not None")) == ({"EVEN": True}, {})


def test_one_may_use_what_another_before_it_gave() -> None:
    first, second = heuristic("BN", "next_power_of_2(M)"), heuristic("num_warps", "BN // 32")

    assert applied(LAUNCH, first, second) == ({"BN": 128}, {"num_warps": 4})


def test_one_that_needs_more_than_the_request_says_is_named_with_its_line() -> None:
    body = {"signature": {"a": "*fp16", "M": "i32", "N": "i32"}, "constexprs": {"BM": 1, "BN": 2}}

    with pytest.raises(RequestRejected) as caught:
        applied(body, EVEN)

    [error] = caught.value.errors
    assert error.pointer == "/space/autotune"
    assert error.message == (
        "the heuristic EVEN of matmul, line 12 (`M % BM == 0 and N % BN == 0`), cannot be "
        "evaluated: needs M, whose value the request does not give. Give `EVEN` in the base's "
        "constexprs, or for a compilation the arguments that it asks for in the space's `like`"
    )


def test_what_the_request_gives_itself_is_taken_where_the_heuristic_has_no_value() -> None:
    body = {"signature": {"M": "i32"}, "constexprs": {"EVEN": False}}

    assert applied(body, EVEN) == ({}, {})


def test_a_heuristic_with_a_value_wins_over_the_request_as_in_triton() -> None:
    compilation = {**LAUNCH["compilation"], "constexprs": {"BM": 64, "BN": 32, "EVEN": False}}

    assert applied(LAUNCH | {"compilation": compilation}, EVEN) == ({"EVEN": True}, {})


def test_one_that_is_not_plain_says_why() -> None:
    refused = heuristic("EVEN", None, why_not="it calls `warps`: only cdiv is plain")

    with pytest.raises(RequestRejected, match="line 12, cannot be evaluated: it calls `warps`"):
        applied(LAUNCH, refused)


def test_one_outside_of_the_autotuner_does_not_see_what_that_chooses() -> None:
    outside = heuristic("EVEN", "BM == 64", outside=True)

    with pytest.raises(RequestRejected, match="needs BM"):
        applied(LAUNCH, outside, configured=frozenset({"BM"}))
    assert applied(LAUNCH, outside) == ({"EVEN": True}, {})


def test_a_number_that_no_constexpr_can_be_is_named() -> None:
    with pytest.raises(RequestRejected, match="does not fit in 64 bits"):
        applied(LAUNCH, heuristic("EVEN", "2 ** 80"))


def test_infinity_is_written_as_a_request_writes_it() -> None:
    assert applied(LAUNCH, heuristic("EVEN", "1e309")) == ({"EVEN": {"float": "inf"}}, {})
