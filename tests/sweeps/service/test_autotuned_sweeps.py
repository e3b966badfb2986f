"""Sweeps whose space is the source's own autotuner."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.integration.service.test_api_hostile_reports import FORGE

SOURCE = """
import itertools, triton
import triton.language as tl

ON_AMD = triton.runtime.driver.active.get_current_target().backend == "hip"

@triton.autotune(
    configs=[
        triton.Config({"BLOCK": block}, num_warps=warps)
        for block, warps in itertools.product([64] if ON_AMD else [64, 128], [1, 2])
    ],
    key=["n"],
    prune_configs_by={"early_config_prune": lambda configs, *_, **__: configs},
)
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def scale(x_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(x_ptr + offsets, tl.load(x_ptr + offsets) * 2)
    else:
        mask = offsets < n
        tl.store(x_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) * 2, mask=mask)
"""
COMPILATION = {
    "source": SOURCE,
    "signature": {"x_ptr": "*fp32:16", "n": "i32"},
    "constexprs": {"EVEN": False},
    "target": "cuda:90",
}


def sweep(http: httpx.Client, base: dict[str, Any], space: Any, **more: Any) -> httpx.Response:
    body = {"base": base, "space": space, **more}
    return http.post("/v1/sweeps", params={"wait": 60}, json=body)


def test_the_configurations_of_the_source_are_the_variants(http: httpx.Client) -> None:
    answer = sweep(http, COMPILATION, {"autotune": True})

    assert answer.status_code == 200, answer.text
    body = answer.json()
    values = [row["values"] for row in body["rows"]]
    assert [(item["constexprs.BLOCK"], item["options.num_warps"]) for item in values] == [
        (64, 1),
        (64, 2),
        (128, 1),
        (128, 2),
    ]
    assert [row["state"] for row in body["rows"]] == ["succeeded"] * 4
    assert len({row["compilation_key"] for row in body["rows"]}) == 4
    reported = [item["message"] for item in body["assumptions"]]
    assert any(message.startswith("prune_configs_by is ignored") for message in reported)


def test_each_target_has_the_configurations_that_it_would_be_given(http: httpx.Client) -> None:
    space = {"autotune": True, "product": {"target": ["cuda:90", "hip:gfx942"]}}

    rows = sweep(http, COMPILATION, space).json()["rows"]

    tried = [
        (row["values"]["target"], row["values"]["constexprs.BLOCK"], row["state"]) for row in rows
    ]
    assert sorted(tried) == [
        *[("cuda:90", block, "succeeded") for block in (64, 64, 128, 128)],
        *[("hip:gfx942", 64, "succeeded")] * 2,
    ]


def test_heuristics_are_evaluated_for_each_variant(http: httpx.Client) -> None:
    base = {**COMPILATION, "signature": {"x_ptr": "*fp32:16"}, "constexprs": {"n": 192}}

    answer = sweep(http, base, {"autotune": True}, where=["num_warps == 1"])

    assert answer.status_code == 200, answer.text
    rows = answer.json()["rows"]
    even = {row["values"]["constexprs.BLOCK"]: row["values"]["constexprs.EVEN"] for row in rows}
    assert even == {64: True, 128: False}
    assert {axis["name"] for axis in answer.json()["axes"]} >= {"constexprs.EVEN"}
    assert [row["state"] for row in rows] == ["succeeded", "succeeded"]


def test_compilations_say_heuristics_the_arguments_by_example(http: httpx.Client) -> None:
    base = {name: part for name, part in COMPILATION.items() if name != "constexprs"}
    space = {"autotune": True, "like": {"n": 192}}

    answer = sweep(http, base, space, where=["EVEN", "num_warps == 2"])

    assert answer.status_code == 200, answer.text
    [row] = answer.json()["rows"]
    assert (row["state"], row["values"]["constexprs.BLOCK"]) == ("succeeded", 64)
    reported = [item["message"] for item in answer.json()["assumptions"]]
    assert "heuristics are evaluated for n = 192, as in `like`" in reported


def test_launches_say_heuristics_the_arguments(http: httpx.Client) -> None:
    base = {
        "compilation": {"source": SOURCE},
        "device": "cpu",
        "grid": ["cdiv(n, BLOCK)"],
        "arguments": {
            "x_ptr": {"shape": [192], "dtype": "fp32", "init": {"kind": "ones"}, "output": True},
            "n": 192,
        },
    }
    space = {"autotune": True, "arguments": {"odd": {}, "even": {"n": 128}}}

    answer = sweep(http, base, space, where=["num_warps == 1"])

    assert answer.status_code == 200, answer.text
    rows = answer.json()["rows"]
    reported = [row["values"] for row in rows]
    assert [(v["arguments"], v["constexprs.BLOCK"], v["constexprs.EVEN"]) for v in reported] == [
        ("odd", 64, True),
        ("even", 64, True),
        ("odd", 128, False),
        ("even", 128, True),
    ]
    assert [row["verdict"] for row in rows] == ["not_checked"] * 4


FORGED: dict[str, tuple[dict[str, Any], str]] = {
    "an expression that never ends": (
        {"expression": "9 ** 9 ** 9 ** 9"},
        "a power of more than 256 bits",
    ),
    "an expression that is none": (
        {"expression": "__import__('os').system('true')"},
        "there is no function",
    ),
    "an expression that is deep": ({"expression": "(" * 150 + "1" + ")" * 150}, "brackets nest"),
    "a text of half a megabyte": ({"why_not": "x" * (1 << 19)}, "more characters were not kept"),
    "an expression of half a megabyte": ({"expression": "1" * (1 << 19)}, "The report is invalid"),
    "a line that is none": ({"line": -1, "expression": "1"}, "The report is invalid"),
}


@pytest.mark.parametrize(("said", "why"), FORGED.values(), ids=FORGED)
def test_what_a_source_reports_in_place_of_triton_is_bounded(
    http: httpx.Client, said: dict[str, Any], why: str
) -> None:
    """The source writes its child's report itself, and can harm only its own sweep."""
    heuristic = {"name": "EVEN", "line": 1, "expression": None, "why_not": None, "outside": False}
    report = {
        "kind": "result",
        "kernel": "scale",
        "line": 1,
        "parameters": ["x_ptr", "n", "BLOCK", "EVEN"],
        "is_autotuned": True,
        "configs": [{"values": {}, "options": {}, "unsaid": [], "sets_aside": []}],
        "config_count": 1,
        **{name: [] for name in ("key", "reset_to_zero", "restore_value", "hooks", "assumptions")},
        "heuristics": [heuristic | said],
        "source_hash": "0" * 64,
    }
    forging = f"{FORGE}\nforge(json.dumps({report!r}).encode()); os._exit(0)\n"
    base = {**COMPILATION, "source": forging + SOURCE, "constexprs": {}}

    answer = sweep(http, base, {"autotune": True})

    assert answer.status_code == 422, answer.text
    assert len(answer.content) < 20_000
    assert why in answer.json()["errors"][0]["message"]


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in COMPILATION.items() if key != name}


REFUSED: dict[str, tuple[dict[str, Any], Any, str, str]] = {
    "a heuristic that needs an argument": (
        without("constexprs"),
        {"autotune": True},
        "/space/autotune",
        "the heuristic EVEN of scale, line 15 (`n % BLOCK == 0`), cannot be evaluated: needs n",
    ),
    "no autotuner": (
        {**COMPILATION, "source": "import triton\n@triton.jit\ndef k(x):\n    pass\n"},
        {"autotune": True},
        "/space/autotune",
        "k (line 3) has no @triton.autotune",
    ),
    "a source that cannot be executed": (
        {**COMPILATION, "source": SOURCE.replace("[1, 2]", "[1, 2 // 0]")},
        {"autotune": True},
        "/space/autotune",
        "ZeroDivisionError",
    ),
    "an axis that the configurations set": (
        COMPILATION,
        {"autotune": True, "product": {"constexprs.BLOCK": [32]}},
        "/space/product/constexprs.BLOCK",
        "the configurations of the source set constexprs.BLOCK",
    ),
    "posted IR": (
        {"ir": {"language": "ttir", "text": "module {}"}, "target": "cuda:90"},
        {"autotune": True},
        "/space/autotune",
        "needs a base with a `source`",
    ),
    "an unknown target": (
        {**COMPILATION, "target": "cuda:9"},
        {"autotune": True},
        "/base/target",
        "is not a target",
    ),
}


@pytest.mark.parametrize(("base", "space", "pointer", "why"), REFUSED.values(), ids=REFUSED)
def test_what_is_wrong_is_reported_at_its_pointer(
    http: httpx.Client, base: dict[str, Any], space: Any, pointer: str, why: str
) -> None:
    answer = sweep(http, base, space)

    assert answer.status_code == 422, answer.text
    [error] = answer.json()["errors"]
    assert error["pointer"] == pointer
    assert why in error["message"]
