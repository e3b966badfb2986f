"""Shared and repeated work: refresh, stop_after, equal TTIR, different options."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.cases import slow_except
from tests.integration.service import bodies
from tests.integration.service.conftest import Post

STAGES = ["source", "ttir", "ttgir", "llir", "ptx", "cubin"]
BACK_END = ("ttgir", "llir", "ptx", "cubin")
STAGES_BACK = {"ttgir", "llir", "ptx", "cubin", "amdgcn", "hsaco"}


def back_end_ms(compilation: dict[str, Any]) -> list[float]:
    return [compilation["timings_ms"][stage] for stage in BACK_END]


def test_refresh_compiles_again_and_replaces(post: Post) -> None:
    body = bodies.vector_add("refreshed")
    first = post(body).json()
    post(body)  # now it is in the service's memory, too

    fresh = post(body | {"refresh": True}).json()

    assert (fresh["key"], fresh["cache"]) == (first["key"], "miss")
    assert fresh["timings_ms"] != first["timings_ms"]
    assert post(body).json()["timings_ms"] == fresh["timings_ms"]


@pytest.mark.parametrize("stage", STAGES)
def test_nothing_is_made_behind_the_stage_to_stop_after(post: Post, stage: str) -> None:
    stopped = post(bodies.good("vector_add", stop_after=stage)).json()

    assert stopped["state"] == "succeeded"
    assert stopped["stop_after"] == stage
    assert list(stopped["artifacts"]) == STAGES[: STAGES.index(stage) + 1]


def test_sources_with_one_ttir_share_the_back_end(post: Post) -> None:
    first = post(bodies.vector_add("one")).json()
    second = post(bodies.vector_add("other")).json()

    assert second["cache"] == "miss"
    assert second["key"] != first["key"]
    assert second["artifacts"]["ttir"]["digest"] == first["artifacts"]["ttir"]["digest"]
    # the back end's times are those of the first compile
    assert back_end_ms(second) == back_end_ms(first)


@pytest.mark.parametrize(
    "change",
    [{"options": {"num_warps": 8}}, {"target": "cuda:80"}, {"options": {"num_stages": 2}}],
    ids=str,
)
def test_different_options_or_targets_share_no_back_end(
    post: Post, change: dict[str, object]
) -> None:
    first = post(bodies.good("vector_add")).json()
    second = post(bodies.good("vector_add", **change)).json()

    assert second["key"] != first["key"]
    # a single one may take as many microseconds again
    assert back_end_ms(second) != back_end_ms(first)


BACK_END_OPTIONS = [
    *({"num_warps": 8}, {"num_stages": 1}, {"maxnreg": 64}, {"num_ctas": 2}, {"ptx_version": 84}),
]


@pytest.mark.parametrize(
    "options", slow_except([{"num_warps": 8}, {"maxnreg": 64}], BACK_END_OPTIONS), ids=str
)
def test_options_that_only_the_back_end_reads_share_the_front_end(
    post: Post, options: dict[str, object]
) -> None:
    source = {"source": f"{bodies.good('matmul')['source']}\n# shares a front end\n"}
    first = post(bodies.good("matmul", **source)).json()
    second = post(bodies.good("matmul", options=options, **source)).json()

    assert (second["state"], second["cache"]) == ("succeeded", "miss")
    # the front end's time is that of the first compile
    assert second["timings_ms"]["frontend"] == first["timings_ms"]["frontend"]
    assert back_end_ms(second) != back_end_ms(first)


@pytest.mark.parametrize(
    "options",
    slow_except([{"debug": True}], [{"debug": True}, {"sanitize_overflow": False}]),
    ids=str,
)
def test_options_that_the_front_end_reads_do_not(post: Post, options: dict[str, object]) -> None:
    first = post(bodies.good("matmul")).json()
    second = post(bodies.good("matmul", options=options)).json()

    assert second["timings_ms"]["frontend"] != first["timings_ms"]["frontend"]


WARPS = {
    "Triton's own function": "tl.extra.cuda.num_warps()",
    "a builtin of the user's": "asked()",
    "one that forgives every error": "forgiven()",
    "all options at once": "everything()",
}


@pytest.mark.parametrize(
    "call", slow_except(["asked()", "everything()"], WARPS.values()), ids=list(WARPS)
)
def test_a_kernel_that_reads_such_an_option_sees_its_own(post: Post, call: str) -> None:
    source = f"""import dataclasses
import triton
import triton.language as tl

@tl.core.builtin
def asked(_semantic=None):
    return tl.constexpr(_semantic.builder.options.num_warps)

@tl.core.builtin
def forgiven(_semantic=None):
    try:
        return tl.constexpr(_semantic.builder.options.num_warps)
    except:
        return tl.constexpr(1)

@tl.core.builtin
def everything(_semantic=None):
    return tl.constexpr(dataclasses.asdict(_semantic.builder.options)["num_warps"])

@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, {call})
"""
    body = {"source": source, "signature": {"x_ptr": "*i32"}, "target": "cuda:90"}

    for warps in (4, 8, 2, 8):
        options = {"num_warps": warps}
        # another key each time, so that only front ends share
        asking = body | {"options": options, "source": f"{source}\n# {warps}", "include": ["ttir"]}
        made = post(asking | {"timeout_s": 30 + warps}).json()

        assert made["state"] == "succeeded", made["diagnostics"]
        assert f"arith.constant {warps} : i32" in made["included"]["ttir"]
        assert made["stdout"] == ""


@pytest.mark.parametrize("target", slow_except(["cuda:90"], ["cuda:90", "hip:gfx942"]))
def test_shorter_requests_are_answered_from_a_longer_one(post: Post, target: str) -> None:
    body = bodies.good("fused_softmax", target=target)
    body["source"] += "\n# of this test alone\n"
    longer = post(body).json()
    requests = [body | {"stop_after": stage} for stage in list(longer["artifacts"])[:-1]]

    shorter = [post(request).json() for request in requests]
    afresh = [post(request | {"refresh": True}).json() for request in requests]

    for answer, answer_afresh in zip(shorter, afresh, strict=True):
        assert (answer["cache"], answer_afresh["cache"]) == ("miss", "miss")
        times, times_afresh = answer.pop("timings_ms"), answer_afresh.pop("timings_ms")
        # only the slice ran again, and the answer is the same as from a full compile
        stages = times.keys() & STAGES_BACK
        assert [times[stage] for stage in stages] == [
            longer["timings_ms"][stage] for stage in stages
        ]
        # a single one may take as many microseconds again
        assert len(stages) < 2 or any(times[stage] != times_afresh[stage] for stage in stages)
        assert times.keys() == times_afresh.keys()
        assert answer | {"created_at": ""} == answer_afresh | {"created_at": ""}


def test_a_longer_request_goes_on_behind_a_shorter_one(post: Post) -> None:
    shorter = post(bodies.good("scan", stop_after="ttgir")).json()
    longer = post(bodies.good("scan")).json()

    assert longer["state"] == "succeeded"
    assert list(longer["artifacts"]) == STAGES
    assert longer["timings_ms"]["frontend"] == shorter["timings_ms"]["frontend"]
    assert longer["resources"]["registers"] > 0


def test_posted_ir_is_answered_from_a_longer_request_too(post: Post) -> None:
    text = post(bodies.good("vector_add", include=["ttir"])).json()["included"]["ttir"]
    own = text.replace("@add_kernel", "@posted_here_alone")
    body = {"ir": {"language": "ttir", "text": own}, "target": "cuda:90"}
    longer = post(body).json()
    shorter = post(body | {"stop_after": "ptx"}).json()

    assert shorter["timings_ms"]["ptx"] == longer["timings_ms"]["ptx"]
    assert list(shorter["artifacts"]) == ["ttir", "ttgir", "llir", "ptx"]
    assert shorter["resources"]["registers"] is None


@pytest.mark.parametrize(
    "change",
    [{"timeout_s": 30}, {"priority": "batch"}, {"include": ["ptx"]}, {"target": "cuda:90:32"}],
    ids=str,
)
def test_what_changes_no_artifact_is_not_in_the_key(post: Post, change: dict[str, object]) -> None:
    first = post(bodies.good("vector_add")).json()
    second = post(bodies.good("vector_add", **change)).json()

    assert (second["key"], second["cache"]) == (first["key"], "hit")


def test_the_same_specialization_in_other_words_is_the_same_compilation(post: Post) -> None:
    spoken = post(bodies.good("vector_add")).json()
    body = bodies.good("vector_add", hints=None)
    body["signature"] = {name: f"{type_}:16" for name, type_ in body["signature"].items()}

    assert post(body).json()["key"] == spoken["key"]


def test_a_module_of_files_is_imported(post: Post) -> None:
    source = (
        "import triton\nimport triton.language as tl\nfrom helpers import doubled\n\n"
        "@triton.jit\ndef kernel(x_ptr):\n    tl.store(x_ptr, doubled(tl.load(x_ptr)))\n"
    )
    helpers = (
        "import triton\nimport triton.language as tl\n\n@triton.jit\ndef doubled(x):\n"
        "    return x * 2\n"
    )
    body = {"source": source, "signature": {"x_ptr": "*fp32"}, "target": "cuda:90"}

    made = post(body | {"files": {"helpers.py": helpers}}).json()
    other = post(body | {"files": {"helpers.py": helpers.replace("2", "3")}}).json()

    assert made["state"] == "succeeded", made["diagnostics"]
    assert other["key"] != made["key"]
    assert other["artifacts"]["ttir"]["digest"] != made["artifacts"]["ttir"]["digest"]


def test_what_can_be_compiled_for_is_reported(http: httpx.Client) -> None:
    reported = http.get("/v1/targets").json()

    (toolchain,) = reported["toolchains"]
    assert {"cuda:80", "cuda:86", "cuda:90", "cuda:100"} <= set(reported["targets"])
    assert toolchain["default"] is True
    num_warps = toolchain["options"]["cuda"]["num_warps"]
    assert (num_warps["type"], num_warps["default"]) == ("int", 4)
