"""Triton finds a sweep's results in its own cache, under the right key."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.autotune import TimedVariant, TunedResults
from compiler.cached_tuning import NotCacheable, autotune_cache_order
from tests.sweeps.autotune.readings import config, heuristic, reading

OPTIONS = {"num_warps": 4, "num_ctas": 1, "num_stages": 3}


def variant(us: float, options: dict[str, Any] | None = None, **constexprs: Any) -> TimedVariant:
    return TimedVariant(
        constexprs=constexprs, options=OPTIONS if options is None else options, us=(us, us, us)
    )


def results(**changes: Any) -> TunedResults:
    said: dict[str, Any] = {
        "winner": variant(9, BM=64),
        "others": [],
        "arguments": {"M": 128, "N": 64, "BM": 64},
        "dtypes": {"a": "torch.float16"},
        "untyped": [],
        "unsaid": [],
        **changes,
    }
    return TunedResults(**said)


def times(made: Any) -> list[tuple[Any, Any]]:
    return [(item["values"], item["ms"]) for item in made.timings]


def test_the_key_has_the_values_of_its_names_and_then_types_by_position() -> None:
    dtypes = {"b": "torch.int32", "a": "torch.float16"}
    reported = reading(parameters=["a", "M", "b", "N", "BM"], key=["N", "M"])

    made = autotune_cache_order(reported, results(dtypes=dtypes), {})

    assert made.key == [{"int": "64"}, {"int": "128"}]
    assert made.dtypes == ["torch.float16", "torch.int32"]


def test_what_is_set_after_the_autotuner_has_looked_is_not_in_the_key() -> None:
    reported = reading(
        key=["M", "BM", "EVEN", "OUT", "absent"],
        heuristics=[heuristic("EVEN", "1"), heuristic("OUT", "2", outside=True)],
    )
    arguments = {"M": 1, "BM": 64, "EVEN": True, "OUT": 7}

    made = autotune_cache_order(reported, results(arguments=arguments), {})

    assert made.key == [{"int": "1"}, {"int": "7"}]


def test_slower_configurations_are_reported_and_others_are_not() -> None:
    others = [
        variant(10, BM=128),
        variant(8, BM=32),  # of a round with few iterations, so it cannot win
        variant(11, BM=16, ACT="gelu"),  # another call
        variant(12, {**OPTIONS, "enable_fp_fusion": False}, BM=16),  # likewise
        variant(13),  # too little evidence
    ]

    made = autotune_cache_order(reading(), results(others=others), {})

    bm = {"BM": {"int": "64"}}, {"BM": {"int": "128"}}
    assert times(made) == [(bm[0], [0.009] * 3), (bm[1], [0.01] * 3)]


def test_options_that_the_request_leaves_out_are_those_of_the_compilation() -> None:
    won = variant(9, {"num_warps": 8}, BM=64)
    resolved = {"num_warps": 8, "num_stages": 2, "num_ctas": 1, "maxnreg": None, "debug": False}

    made = autotune_cache_order(reading(), results(winner=won), resolved)

    options = {name: int(value["int"]) for name, value in made.timings[0]["options"].items()}
    assert options == {"num_warps": 8, "num_ctas": 1, "num_stages": 2}


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "no autotuner": (
        {"is_autotuned": False, "configs": []},
        {},
        "it has no @triton.autotune that would read a cache",
    ),
    "one configuration": ({"configs": [config({"BM": 64})]}, {}, "it has one configuration"),
    "a hook": (
        {"configs": [config({"BM": 1}), config({"BM": 64}, sets_aside=["pre_hook"])]},
        {},
        "configuration 1 has a pre_hook, with which Triton reads no cache",
    ),
    "pruning": (
        {"hooks": ["early_config_prune"]},
        {},
        "prune_configs_by (early_config_prune) decides at the launch",
    ),
    "a value without text": (
        {"configs": [config({}, unsaid=["layout"]), config({"BM": 64})]},
        {},
        "configuration 0 has values of layout without a predictable text",
    ),
    "a type that torch has not": ({}, {"untyped": ["a"]}, "torch has no type for a"),
    "a key of a tensor": ({"key": ["a"]}, {}, "its key has a, whose text in the key is not"),
    "a key of a tuple": ({"key": ["t"]}, {"unsaid": ["t"]}, "its key has t"),
    "a winner that says too little": (
        {"configs": [config({"BM": 64, "BN": 1}), config({"BM": 32, "BN": 2})]},
        {},
        "the winner lacks some of BM, BN, which its configurations set",
    ),
    "a type among the values": (
        {"configs": [config({"T": {"dtype": "fp16"}}), config({"T": {"dtype": "bf16"}})]},
        {"winner": variant(9, T={"dtype": "fp16"})},
        "T is not a number, string or boolean, and Triton's file is JSON",
    ),
}


@pytest.mark.parametrize(("reported", "found", "why"), REFUSED.values(), ids=REFUSED)
def test_what_triton_would_not_find_or_not_read_is_not_written(
    reported: dict[str, Any], found: dict[str, Any], why: str
) -> None:
    with pytest.raises(NotCacheable) as caught:
        autotune_cache_order(reading(**reported), results(**found), {})

    assert str(caught.value).startswith("matmul (line 20): ")
    assert why in str(caught.value)
    assert str(caught.value).endswith("take the winners as `triton-config`")
