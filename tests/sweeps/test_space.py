"""Spaces: the variants of a request's product and lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.rejection import RequestRejected
from sweeps.axis import NAMES
from sweeps.space import read_space
from tests.sweeps.planned_space import COMPILATION, LAUNCH, plan, pointers, refusals, rows

LONG = list(range(101))


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
    ("space", "where", "at", "said"),
    [
        ({}, (), "/space", "is empty"),
        ([], (), "/space", "one at least"),
        ([{}], (), "/space", "is empty"),
        ([{"constexprs": {"B": 1}}, 7], (), "/space/1", "7 is not an object"),
        (
            [{"constexprs": {"B": 1}}, {}, {"constexprs.B": 1}],
            (),
            "/space/2",
            "is variant 0 again; each variant once",
        ),
        ({"like": {"K": 1}, "target": ["cuda:90"]}, (), "/space/like", "only with `autotune`"),
        ({"autotune": True, "like": 7}, (), "/space/like", "must be an object"),
        ({"autotune": True, "like": {"K": [1]}}, (), "/space/like/K", "[1] is not a number"),
        ({"variants": [{"what": 7}]}, (), "/space/variants/0/what", "unknown axis"),
        ({"product": []}, (), "/space/product", "object from axes to values"),
        ({"constexprs.B": []}, (), "/space/constexprs.B", "without values"),
        ({"constexprs.B": 1}, (), "/space/constexprs.B", "must be a list"),
        ({"constexprs.B": [1, 2, 1]}, (), "/space/constexprs.B/2", "is at 0 already"),
        ({"constexprs.B": [10**30]}, (), "/space/constexprs.B/0", "beyond 64 bits"),
        ({"constexprs.B": ["x" * 2000]}, (), "/space/constexprs.B/0", "more than 1024 bytes"),
        ({"BLOCK": [1]}, (), "/space/BLOCK", "Did you mean `constexprs.BLOCK`"),
        ({"optons.num_warps": [1]}, (), "/space/optons.num_warps", "Did you mean `options`?"),
        ({"grid": [[1]]}, (), "/space/grid", "a compilation has no such axis"),
        ({"arguments.n": [1]}, (), "/space/arguments.n", "a compilation has no such axis"),
        ({"target": ["a"], "targets": ["b"]}, (), "/space/targets", "an axis already"),
        (
            [{"constexprs": {"B": 1}, "constexprs.B": 2}],
            (),
            "/space/0/constexprs.B",
            "given twice",
        ),
        ([{"target": "a", "targets": "b"}], (), "/space/0/targets", "given twice"),
        ({"autotune": True, "variants": [{}]}, (), "/space/autotune", "either lists"),
        ({"autotune": 1}, (), "/space/autotune", "must be true"),
        ({"source": {"a/b": 7}}, (), "/space/source/a~1b", "not the text of a source"),
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
        (at, "`arguments` gives arguments.n already; give it once")
    ]


def test_more_variants_than_allowed_are_counted_and_never_listed() -> None:
    """A list would take hours."""
    thousand = list(range(1000))
    space = {"constexprs.A": thousand, "constexprs.B": thousand, "constexprs.C": thousand}

    assert refusals(space) == [("/space", "1000000000 variants; a sweep has 100 at most")]
    assert refusals(space, "A < B")[0][0] == "/space"


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


@given(space=SPACES | JSON, base=st.sampled_from([COMPILATION, LAUNCH]))
def test_any_json_is_a_space_or_refused_inside_of_it(space: Any, base: dict[str, Any]) -> None:
    assert all(pointer.startswith("/space") for pointer in pointers(space, base=base))


@pytest.mark.parametrize(
    ("space", "at"),
    [
        ({"product": {"constexprs.N": LONG}}, "/space/product/constexprs.N"),
        ({"product": {"constexprs": {"N": LONG}}}, "/space/product/constexprs/N"),
        ({"constexprs": {"N": LONG}}, "/space/constexprs/N"),
        ({"target": LONG}, "/space/target"),
        ({"variants": LONG}, "/space/variants"),
        (LONG, "/space"),
    ],
)
def test_values_are_counted_before_they_are_read(space: Any, at: str) -> None:
    with pytest.raises(RequestRejected) as rejected:
        read_space(space, "compilations", 100)

    [error] = rejected.value.errors
    assert (error.pointer, error.message) == (at, "101 values; a sweep takes 100 at most")


@pytest.mark.parametrize(
    ("within", "at"),
    [
        (lambda axes: axes, "/space"),
        (lambda axes: {"product": axes}, "/space/product"),
        (lambda axes: {"product": {"constexprs": axes}}, "/space/product/constexprs"),
    ],
)
def test_axes_are_counted_before_they_are_read(
    monkeypatch: pytest.MonkeyPatch, within: Callable[[Any], Any], at: str
) -> None:
    monkeypatch.setattr("sweeps.space.read_axes", None)

    with pytest.raises(RequestRejected) as rejected:
        read_space(within({f"constexprs.C{n}": [n] for n in range(1025)}), "compilations", 100)

    [error] = rejected.value.errors
    assert (error.pointer, error.message) == (at, "1025 members; a space has at most 64 axes")
