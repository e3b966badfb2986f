"""The space of an autotuned source: configs by context, and heuristics as axes."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.autotune import AutotuneReading
from compiler.rejection import RequestRejected
from sweeps.autotune.autotuned_space import AutotuneContext, AutotunedSpace, contexts_of
from sweeps.space import read_space
from sweeps.where import read_where
from tests.sweeps.autotune.readings import config, heuristic, reading

BASE = {"source": "text", "target": "cuda:90", "constexprs": {"M": 128}}
CUDA, AMD = AutotuneContext("text", "cuda:90", None), AutotuneContext("text", "hip:gfx942", None)


def variants(
    written: Any, readings: dict[AutotuneContext, AutotuneReading]
) -> list[dict[str, Any]]:
    tuned = AutotunedSpace(read_space(written, "compilations", 10_000), readings)
    sweep = tuned.planned(BASE, "compilations", (), 1000)
    return [sweep.plan.values(index) for index in range(len(sweep.plan))]


def test_a_variant_has_only_what_its_own_target_lists() -> None:
    space = {"autotune": True, "target": ["cuda:90", "hip:gfx942"]}
    amd = reading(configs=[config({"BM": 64, "waves_per_eu": 2})])

    found = variants(space, {CUDA: reading(), AMD: amd})

    reported = [(v["target"], v["constexprs.BM"], v["options.waves_per_eu"]) for v in found]
    assert reported == [("cuda:90", 64, None), ("cuda:90", 128, None), ("hip:gfx942", 64, 2)]


def test_configurations_go_by_a_product_of_further_axes() -> None:
    found = variants({"autotune": True, "product": {"constexprs.BN": [16, 32]}}, {CUDA: reading()})

    assert [(v["constexprs.BM"], v["constexprs.BN"]) for v in found] == [
        (64, 16),
        (64, 32),
        (128, 16),
        (128, 32),
    ]


def test_a_heuristic_is_an_axis_with_a_value_for_each_variant() -> None:
    even = heuristic("EVEN", "M % BM == 0 and BM > 64")

    found = variants({"autotune": True}, {CUDA: reading(heuristics=[even])})

    assert [v["constexprs.EVEN"] for v in found] == [False, True]


def test_an_axis_of_the_request_takes_a_heuristics_place() -> None:
    space = {"autotune": True, "constexprs.EVEN": [False]}
    reported = reading(heuristics=[heuristic("EVEN", None, why_not="it calls `f`")])

    assert [v["constexprs.EVEN"] for v in variants(space, {CUDA: reported})] == [False, False]
    tuned = AutotunedSpace(read_space(space, "compilations", 10_000), {CUDA: reported})
    [assumption] = tuned.assumptions
    assert assumption.message.startswith("the heuristic EVEN is ignored: an axis")


def test_conditions_know_what_heuristics_come_to() -> None:
    even = heuristic("EVEN", "M % BM == 0 and BM > 64")
    written = {"autotune": True, "product": {"constexprs.BN": [16, 32]}}
    tuned = AutotunedSpace(
        read_space(written, "compilations", 10_000), {CUDA: reading(heuristics=[even])}
    )

    for condition in ("EVEN and BN == 16", "constexprs.EVEN and BN == 16"):
        sweep = tuned.planned(BASE, "compilations", read_where([condition]), 1)
        [values] = [sweep.plan.values(index) for index in range(len(sweep.plan))]
        assert (values["constexprs.BM"], values["constexprs.BN"]) == (128, 16)
        assert values["constexprs.EVEN"] is True


def test_heuristics_of_compilations_know_the_arguments_that_are_given_as_examples() -> None:
    even = heuristic("EVEN", "N % BM == 0")
    written = {"autotune": True, "like": {"N": 192, "M": 5}}
    tuned = AutotunedSpace(
        read_space(written, "compilations", 10_000), {CUDA: reading(heuristics=[even])}
    )

    sweep = tuned.planned(BASE, "compilations", (), 100)

    found = [sweep.plan.values(index)["constexprs.EVEN"] for index in range(len(sweep.plan))]
    assert found == [True, False]
    assert [item.message for item in tuned.assumptions] == [
        "heuristics are evaluated for M = 5, N = 192, as in `like`"
    ]


def test_what_the_request_says_itself_counts_before_an_example() -> None:
    even = heuristic("EVEN", "M % 128 == 0")
    written = {"autotune": True, "like": {"M": 5}}
    tuned = AutotunedSpace(
        read_space(written, "compilations", 10_000), {CUDA: reading(heuristics=[even])}
    )

    sweep = tuned.planned(BASE, "compilations", (), 100)

    assert sweep.plan.values(0)["constexprs.EVEN"] is True


def test_an_example_of_no_parameter_is_refused() -> None:
    written = {"autotune": True, "like": {"K": 5}}

    with pytest.raises(RequestRejected) as caught:
        AutotunedSpace(read_space(written, "compilations", 10_000), {CUDA: reading()})

    assert [(f.pointer, f.message) for f in caught.value.errors] == [
        ("/space/like/K", "matmul has no parameter K")
    ]


@pytest.mark.parametrize(
    ("said", "example", "message"),
    [
        (
            {"signature": {"N": "i32:16"}},
            {"N": 100},
            "100 breaks a hint: by the base, N is divi",
        ),
        (
            {"signature": {"N": "i32"}, "hints": {"N": ["equal_to_1"]}},
            {"N": 2},
            "2 breaks a hint: by the base, N is equal to 1",
        ),
    ],
)
def test_an_example_that_breaks_a_hint_is_refused(
    said: dict[str, Any], example: dict[str, Any], message: str
) -> None:
    space = read_space({"autotune": True, "like": example}, "compilations", 10_000)
    tuned = AutotunedSpace(space, {CUDA: reading()})

    with pytest.raises(RequestRejected) as caught:
        tuned.planned({**BASE, **said}, "compilations", (), 100)

    [error] = caught.value.errors
    assert error.pointer == "/space/like/N"
    assert error.message.startswith(message)


def test_an_example_may_keep_a_hint() -> None:
    space = read_space({"autotune": True, "like": {"N": 192}}, "compilations", 10_000)
    tuned = AutotunedSpace(space, {CUDA: reading()})

    assert tuned.planned({**BASE, "signature": {"N": "i32:16"}}, "compilations", (), 100)


def test_what_takes_too_long_to_evaluate_is_refused_before() -> None:
    configs = [config({"BM": size}) for size in range(1000)]
    long = heuristic("EVEN", " + ".join(["M"] * 100))
    reported = reading(configs=configs, heuristics=[long] * 30)

    with pytest.raises(RequestRejected, match="1000 variants, each with heuristics of 11940 terms"):
        variants({"autotune": True}, {CUDA: reported})


def test_sources_targets_and_tritons_are_contexts() -> None:
    space = {"autotune": True, "sources": {"before": "a", "after": "b"}, "tritons": ["3.6.0"]}

    found = contexts_of(BASE, "compilations", read_space(space, "compilations", 10_000))

    assert found == [
        AutotuneContext("a", "cuda:90", "3.6.0"),
        AutotuneContext("b", "cuda:90", "3.6.0"),
    ]


def test_a_launch_without_a_target_is_read_for_its_device() -> None:
    base = {"compilation": {"source": "text"}, "device": {"target": "cuda:80"}, "grid": [1]}

    found = contexts_of(base, "launches", read_space({"autotune": True}, "launches", 10_000))

    assert found == [AutotuneContext("text", "cuda:80", None)]


def test_too_many_autotuners_are_refused() -> None:
    space = read_space(
        {"autotune": True, "source": [f"v{i}" for i in range(99)]}, "compilations", 10_000
    )

    with pytest.raises(RequestRejected, match="make 64 autotuners or more"):
        contexts_of(BASE, "compilations", space)


@pytest.mark.parametrize("base", [{"ir": {}}, {"source": 3}])
def test_a_base_without_source_is_refused(base: dict[str, Any]) -> None:
    with pytest.raises(RequestRejected, match="needs a base with a `source`"):
        contexts_of(base, "compilations", read_space({"autotune": True}, "compilations", 10_000))
