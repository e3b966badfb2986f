"""Spaces: which variants a request's product, lists and conditions come to."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.rejection import RequestRejected
from sweeps.axis import NAMES
from sweeps.space import PlannedSweep, planned, read_space
from sweeps.sweep_request import kind_of_base
from sweeps.where import read_where

COMPILATION: dict[str, Any] = {
    "source": "a kernel",
    "target": "cuda:90",
    "constexprs": {"BLOCK": 64, "EVEN": True},
    "options": {"num_warps": 4},
}
LAUNCH: dict[str, Any] = {
    "compilation": {"source": "a kernel", "constexprs": {"BLOCK": 64}},
    "grid": ["cdiv(n, BLOCK)"],
    "arguments": {"x_ptr": {"shape": [8], "dtype": "fp32"}, "n": 8},
}


def plan(space: Any, *where: str, base: dict[str, Any] = COMPILATION, most: int = 100):
    kind = kind_of_base(base)
    return planned(base, kind, read_space(space, kind), read_where(where), most)


def rows(found: PlannedSweep) -> list[tuple[Any, ...]]:
    return [tuple(found.plan.values(index).values()) for index in range(len(found.plan))]


def refusals(*arguments: Any, **named: Any) -> list[tuple[str, str]]:
    with pytest.raises(RequestRejected) as caught:
        plan(*arguments, **named)
    return [(fault.pointer, fault.message) for fault in caught.value.faults]


@pytest.mark.parametrize(
    "space",
    [
        {"product": {"constexprs.BLOCK": [32, 64], "options.num_warps": [2, 4]}},
        {"constexprs.BLOCK": [32, 64], "options.num_warps": [2, 4]},
        {"constexprs": {"BLOCK": [32, 64]}, "options": {"num_warps": [2, 4]}},
    ],
)
def test_a_product_is_every_value_with_every_other(space: Any) -> None:
    assert rows(plan(space)) == [(32, 2), (32, 4), (64, 2), (64, 4)]


def test_the_body_of_a_variant_is_the_base_with_its_values() -> None:
    variant = plan({"constexprs.BLOCK": [32], "target": ["cuda:80"]}).plan.variant(0)

    assert variant.body == COMPILATION | {
        "constexprs": {"BLOCK": 32, "EVEN": True},
        "target": "cuda:80",
    }
    assert COMPILATION["constexprs"]["BLOCK"] == 64


@pytest.mark.parametrize("listed", [lambda them: them, lambda them: {"variants": them}])
def test_variants_can_be_listed(listed: Any) -> None:
    found = plan(listed([{"constexprs": {"BLOCK": 32}}, {"options.num_warps": 8}]))

    assert [axis.name for axis in found.plan.axes] == ["constexprs.BLOCK", "options.num_warps"]
    assert rows(found) == [(32, None), (None, 8)]
    assert found.plan.variant(1).body["constexprs"]["BLOCK"] == 64


def test_listed_variants_are_multiplied_by_further_axes() -> None:
    space = {"variants": [{"constexprs": {"BLOCK": 32}}, {}], "targets": ["cuda:80", "cuda:90"]}

    assert rows(plan(space)) == [
        (32, "cuda:80"), (32, "cuda:90"), (None, "cuda:80"), (None, "cuda:90"),
    ]  # fmt: skip


def test_sources_go_by_their_labels() -> None:
    found = plan({"source": {"before": "one", "after": "two"}})

    assert rows(found) == [("before",), ("after",)]
    assert [each.body["source"] for each in found.plan.variants()] == ["one", "two"]


def test_arguments_are_merged_over_those_of_the_base() -> None:
    sizes = {"small": {"n": 4, "x_ptr": {"shape": [4]}}, "as it is": {}}
    found = plan({"arguments": sizes, "grid": [[1], ["n"]]}, base=LAUNCH)

    assert rows(found) == [
        ("small", [1]), ("small", ["n"]), ("as it is", [1]), ("as it is", ["n"]),
    ]  # fmt: skip
    assert found.plan.variant(1).body["arguments"] == {
        "x_ptr": {"shape": [4], "dtype": "fp32"},
        "n": 4,
    }
    assert found.plan.variant(3).body["grid"] == ["n"]


def test_the_kernel_of_a_launch_is_swept_in_its_compilation() -> None:
    variant = plan({"constexprs.BLOCK": [32], "arguments.n": [5]}, base=LAUNCH).plan.variant(0)

    assert variant.body["compilation"]["constexprs"] == {"BLOCK": 32}
    assert variant.body["arguments"]["n"] == 5


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
    """What options are where nothing says them, by target and Triton."""
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
    space = read_space({"target": ["cuda:90", "hip:gfx942"]}, "compilations")

    found = planned(COMPILATION, "compilations", space, read_where([condition]), 100, defaults)

    assert [target for (target,) in rows(found)] == kept


def test_a_name_that_there_is_not_is_told_beside_those_that_were_said() -> None:
    space = read_space({"target": ["cuda:90"]}, "compilations")

    with pytest.raises(RequestRejected) as caught:
        planned(COMPILATION, "compilations", space, read_where(["warps > 1"]), 100, defaults)

    said = "Known are BLOCK, EVEN, num_warps, target, and 2 options by their defaults"
    assert said in caught.value.faults[0].message


def test_conditions_know_the_scalars_of_arguments() -> None:
    space = {"constexprs.BLOCK": [4, 16], "arguments": {"small": {"n": 4}, "base": {}}}

    assert rows(plan(space, "BLOCK >= n", base=LAUNCH)) == [
        (4, "small"), (16, "small"), (16, "base"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("space", "where", "at", "said"),
    [
        ({}, (), "/space", "is empty"),
        ([], (), "/space", "one at least"),
        ([{}], (), "/space", "is empty"),
        ([{"constexprs": {"B": 1}}, 7], (), "/space/1", "7 is no object"),
        (
            [{"constexprs": {"B": 1}}, {}, {"constexprs.B": 1}],
            (),
            "/space/2",
            "is variant 0 again; each variant once",
        ),
        ({"constexprs.T": [[1, 2]]}, ("T == 1",), "/where/0", "compares constexprs.T (a list)"),
        (
            {"constexprs.T": [{"dtype": "fp32"}]},
            ("T == 'fp32'",),
            "/where/0",
            "compares constexprs.T (an object)",
        ),
        ({"like": {"K": 1}, "target": ["cuda:90"]}, (), "/space/like", "only beside `autotune`"),
        ({"autotune": True, "like": 7}, (), "/space/like", "must be an object"),
        ({"autotune": True, "like": {"K": [1]}}, (), "/space/like/K", "[1] is no number"),
        ({"variants": [{"what": 7}]}, (), "/space/variants/0/what", "unknown axis"),
        ({"product": []}, (), "/space/product", "object from axes to values"),
        ({"constexprs.B": []}, (), "/space/constexprs.B", "without values"),
        ({"constexprs.B": 1}, (), "/space/constexprs.B", "must be a list"),
        ({"constexprs.B": [1, 2, 1]}, (), "/space/constexprs.B/2", "stands at 0 already"),
        ({"constexprs.B": [10**30]}, (), "/space/constexprs.B/0", "beyond 64 bits"),
        ({"constexprs.B": ["x" * 2000]}, (), "/space/constexprs.B/0", "more than 1024 bytes"),
        ({"BLOCK": [1]}, (), "/space/BLOCK", "Did you mean `constexprs.BLOCK`"),
        ({"optons.num_warps": [1]}, (), "/space/optons.num_warps", "Did you mean `options`?"),
        ({"grid": [[1]]}, (), "/space/grid", "a compilation has no such axis"),
        ({"target": ["a"], "targets": ["b"]}, (), "/space/targets", "an axis already"),
        (
            [{"constexprs": {"B": 1}, "constexprs.B": 2}],
            (),
            "/space/0/constexprs.B",
            "said already",
        ),
        ([{"target": "a", "targets": "b"}], (), "/space/0/targets", "said already"),
        ({"autotune": True, "variants": [{}]}, (), "/space/autotune", "either lists"),
        ({"autotune": 1}, (), "/space/autotune", "must be true"),
        ({"source": {"a/b": 7}}, (), "/space/source/a~1b", "not the text of a source"),
        ({"constexprs.B": [1]}, ("B > 1",), "/where", "leaves no variant"),
        ({"constexprs.B": [1]}, ("B // 0 > 1",), "/where/0", "divides by zero"),
        ({"constexprs.B": [1]}, ("B > 0", "BLOK > 1"), "/where/1", "Did you mean `BLOCK`?"),
        ({"constexprs.B": [1]}, ("B",), "/where/0", "is 1, not true or false"),
        ({"constexprs.B": [1]}, ("B + 1",), "/where/0", "is 2, not true or false; compare it"),
        ({"constexprs.B": [1]}, ("B > 'a'",), "/where/0", '"a" has no order'),
        ({"constexprs.B": [1]}, ("__import__('os')",), "/where/0", "there is no function"),
        ({"constexprs.B": [1]}, ("9**9**9 > 1",), "/where/0", "a power of more than 256 bits"),
        ({"constexprs.B": [1]}, ("B.real > 1",), "/where/0", "B.real"),
        ({"constexprs.B": [1]}, ("(" * 200,), "/where/0", "not an expression"),
        ({"constexprs.B": [1]}, ("1" * 300,), "/where/0", "longer than 256"),
        ({"constexprs.B": [1]}, ("B " + "+ 1" * 40 + " > 0",), "/where/0", "more than 64 terms"),
    ],
)
def test_what_is_wrong_is_said_where_it_is(
    space: Any, where: tuple[str, ...], at: str, said: str
) -> None:
    found = refusals(space, *where)

    assert [pointer for pointer, _ in found] == [at], found
    assert said in found[0][1]


@pytest.mark.parametrize(
    ("space", "at"),
    [
        ({"arguments": {"a": {"n": 1}, "b": {"n": 2}}, "arguments.n": [3]}, "/space/arguments.n"),
        ([{"arguments": {"n": 1}, "arguments.n": 2}], "/space"),
    ],
)
def test_an_argument_that_sizes_say_is_no_axis_besides(space: Any, at: str) -> None:
    assert refusals(space, base=LAUNCH) == [
        (at, "`arguments` says arguments.n already; say it once")
    ]


def test_a_grid_and_a_buffer_are_told_to_be_no_numbers() -> None:
    said = refusals({"grid": [[1], [2]]}, "grid == 1", base=LAUNCH)
    assert said[0][0] == "/where/0"
    assert "compares grid (a list), which is no number" in said[0][1]
    [(_, message)] = refusals({"grid": [[1], [2]]}, "x_ptr > 1", base=LAUNCH)
    assert "compares arguments.x_ptr (an object), which is no number" in message


def test_more_variants_than_allowed_are_counted_and_never_listed() -> None:
    thousand = list(range(1000))
    space = {"constexprs.A": thousand, "constexprs.B": thousand, "constexprs.C": thousand}
    started = time.process_time()

    assert refusals(space) == [("/space", "1000000000 variants; a sweep has 100 at most")]
    assert refusals(space, "A < B")[0][0] == "/space"
    assert time.process_time() - started < 1  # expanding would take hours


def test_conditions_may_choose_among_more_than_a_sweep_can_have() -> None:
    space = {"constexprs.A": list(range(20)), "constexprs.B": list(range(20))}

    assert len(plan(space, "A == B").plan) == 20
    assert "more than 100 variants are left" in refusals(space, "A != B")[0][1]


def test_conditions_that_take_too_long_together_are_refused() -> None:
    space = {"constexprs.A": list(range(300)), "constexprs.B": list(range(300))}
    long = " + ".join(["A"] * 8) + " > B"

    assert refusals(space, *[long] * 8, most=10_000)[0][0] == "/where"


NAME = st.sampled_from(
    [*NAMES["launches"], "targets", "sources", "product", "variants", "autotune", "constexprs.B",
     "options.", ".", "arguments.n", "", "B", "~/"]
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAME, inner, max_size=3),
    max_leaves=12,
)
SPACES = st.dictionaries(NAME, JSON, max_size=4) | st.lists(
    st.dictionaries(NAME, JSON, max_size=3), max_size=3
)


def pointers(space: Any, *where: str, base: dict[str, Any]) -> list[str]:
    """Where the space is refused; where it is none, all bodies have what the base has."""
    try:
        found = plan(space, *where, base=base)
    except RequestRejected as rejected:
        return [fault.pointer for fault in rejected.faults]
    assert all(variant.body.keys() >= base.keys() for variant in found.plan.variants())
    return []


@given(space=SPACES | JSON, base=st.sampled_from([COMPILATION, LAUNCH]))
def test_any_json_is_a_space_or_refused_inside_of_it(space: Any, base: dict[str, Any]) -> None:
    assert all(pointer.startswith("/space") for pointer in pointers(space, base=base))


@given(text=st.text(alphabet="AB01 ()<>=!+-*/%,.'\"[]andortifl:@", max_size=40))
def test_any_text_is_a_condition_or_refused_where_it_stands(text: str) -> None:
    assert set(pointers({"constexprs.A": [1, 2]}, text, base=COMPILATION)) <= {"/where", "/where/0"}
