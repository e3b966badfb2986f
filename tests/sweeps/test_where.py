"""Conditions: the variants that they keep, the names that they know, and errors."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.rejection import RequestRejected
from sweeps.space import planned, read_space
from sweeps.where import Condition, read_where
from tests.sweeps.planned_space import COMPILATION, LAUNCH, plan, pointers, refusals, rows


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("BLOCK >= 64 * num_warps", [(128, 2)]),
        ("BLOCK * num_warps == 256", [(64, 4), (128, 2)]),
        ("constexprs.BLOCK < 128 and not options.num_warps == 4", [(64, 2)]),
        ("32 < BLOCK < 100 or num_warps in [8]", [(64, 2), (64, 4)]),
        ("target == 'cuda:90' and EVEN and BLOCK % 128 == 0", [(128, 2), (128, 4)]),
        ("cdiv(BLOCK, 100) == 1", [(64, 2), (64, 4)]),
    ],
)
def test_a_variant_stays_where_the_condition_is_true(condition: str, kept: Any) -> None:
    space = {"constexprs.BLOCK": [64, 128], "options.num_warps": [2, 4]}

    assert rows(plan(space, condition)) == kept


def defaults(target: str | None, triton: str | None) -> dict[str, Any]:
    """Return default options by target and Triton version."""
    return {"options.num_stages": 2 if target == "hip:gfx942" else 3, "options.maxnreg": None}


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("num_stages == 3", ["cuda:90"]),
        ("options.num_stages < 3 or num_warps == 2", ["hip:gfx942"]),
        ("maxnreg is None", ["cuda:90", "hip:gfx942"]),
    ],
)
def test_conditions_know_what_options_are_by_default(condition: str, kept: list[str]) -> None:
    space = read_space({"target": ["cuda:90", "hip:gfx942"]}, "compilations", 10_000)

    found = planned(COMPILATION, "compilations", space, read_where([condition]), 100, defaults)

    assert [target for (target,) in rows(found)] == kept


def test_a_name_that_there_is_not_is_reported_beside_those_that_were_said() -> None:
    space = read_space({"target": ["cuda:90"]}, "compilations", 10_000)

    with pytest.raises(RequestRejected) as caught:
        planned(COMPILATION, "compilations", space, read_where(["warps > 1"]), 100, defaults)

    said = "Known are BLOCK, EVEN, num_warps, target, and 2 options by their defaults"
    assert said in caught.value.errors[0].message


def test_conditions_know_the_scalars_of_arguments() -> None:
    space = {"constexprs.BLOCK": [4, 16], "arguments": {"small": {"n": 4}, "base": {}}}

    assert rows(plan(space, "BLOCK >= n", base=LAUNCH)) == [
        (4, "small"), (16, "small"), (16, "base"),
    ]  # fmt: skip


def test_a_grid_and_a_buffer_are_refused_as_numbers() -> None:
    said = refusals({"grid": [[1], [2]]}, "grid == 1", base=LAUNCH)
    assert said[0][0] == "/where/0"
    assert "compares grid (a list), which is not a number" in said[0][1]
    [(_, message)] = refusals({"grid": [[1], [2]]}, "x_ptr > 1", base=LAUNCH)
    assert "compares arguments.x_ptr (an object), which is not a number" in message


def test_conditions_may_choose_among_more_than_a_sweep_can_have() -> None:
    space = {"constexprs.A": list(range(20)), "constexprs.B": list(range(20))}

    assert len(plan(space, "A == B").plan) == 20
    assert "more than 100 variants are left" in refusals(space, "A != B")[0][1]


def test_conditions_that_take_too_long_together_are_refused() -> None:
    space = {"constexprs.A": list(range(300)), "constexprs.B": list(range(300))}
    long = " + ".join(["A"] * 8) + " > B"

    assert refusals(space, *[long] * 8, most=10_000)[0][0] == "/where"


def test_conditions_that_keep_few_of_many_combinations_are_refused_before_all_are_tried() -> None:
    space = {"constexprs.A": list(range(300)), "constexprs.B": list(range(300))}
    rare = "A * B == 89401"

    [(at, message)] = refusals(space, rare, most=10_000)

    assert at == "/where"
    assert message.startswith("the conditions keep 0 of the first ")
    assert "list the variants, or give axes fewer values" in message
    fewer = {"constexprs.A": list(range(275, 300)), "constexprs.B": list(range(275, 300))}
    assert rows(plan(fewer, rare)) == rows(plan([{"constexprs": {"A": 299, "B": 299}}]))


def test_a_condition_is_evaluated_once_for_the_values_that_it_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    evaluated = []
    holds = Condition.holds
    monkeypatch.setattr(
        Condition, "holds", lambda self, *args: evaluated.append(self) or holds(self, *args)
    )
    space = {f"constexprs.{name}": [1, 2, 4] for name in "ABCD"}

    kept = plan(space, "A * B == 4", "C < D")

    assert len(kept.plan) == 3 * 3
    assert len(evaluated) == 3 * 3 + 3 * 3


@pytest.mark.parametrize(
    ("space", "where", "at", "said"),
    [
        ({"constexprs.T": [[1, 2]]}, ("T == 1",), "/where/0", "compares constexprs.T (a list)"),
        (
            {"constexprs.T": [{"dtype": "fp32"}]},
            ("T == 'fp32'",),
            "/where/0",
            "compares constexprs.T (an object)",
        ),
        ({"constexprs.B": [1]}, ("B > 1",), "/where", "leaves no variant"),
        ({"constexprs.B": [1]}, ("B // 0 > 1",), "/where/0", "divides by zero"),
        ({"constexprs.B": [1]}, ("B > 0", "BLOK > 1"), "/where/1", "Did you mean `BLOCK`?"),
        ({"constexprs.B": [1]}, ("B",), "/where/0", "is 1, not true or false"),
        ({"constexprs.B": [1]}, ("B + 1",), "/where/0", "is 2, not true or false; compare it"),
        ({"constexprs.B": [1]}, ("B > 'a'",), "/where/0", '"a" has no order'),
        ({"constexprs.B": [1]}, ("__import__('os')",), "/where/0", "there is no function"),
        ({"constexprs.B": [1]}, ("9**9**9 > 1",), "/where/0", "a power of more than 256 bits"),
        ({"constexprs.B": [1]}, ("B.real > 1",), "/where/0", "B.real"),
        ({"constexprs.B": [1]}, ("(" * 200,), "/where/0", "brackets nest more than 128 deep"),
        ({"constexprs.B": [1]}, ("1" * 300,), "/where/0", "longer than 256"),
        ({"constexprs.B": [1]}, ("B " + "+ 1" * 40 + " > 0",), "/where/0", "more than 64 terms"),
    ],
)
def test_what_is_wrong_with_a_condition_is_said_where_it_stands(
    space: Any, where: tuple[str, ...], at: str, said: str
) -> None:
    found = refusals(space, *where)

    assert [pointer for pointer, _ in found] == [at], found
    assert said in found[0][1]


@given(text=st.text(alphabet="AB01 ()<>=!+-*/%,.'\"[]andortifl:@", max_size=40))
def test_any_text_is_a_condition_or_refused_where_it_stands(text: str) -> None:
    assert set(pointers({"constexprs.A": [1, 2]}, text, base=COMPILATION)) <= {"/where", "/where/0"}
