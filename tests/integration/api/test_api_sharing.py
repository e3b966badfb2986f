"""What is compiled anew and what is shared: refresh, stop_after, equal TTIR, different options."""

from __future__ import annotations

import httpx
import pytest

from tests.integration.api import bodies
from tests.integration.api.conftest import Post

STAGES = ["source", "ttir", "ttgir", "llir", "ptx", "cubin"]


def test_refresh_compiles_again_and_replaces(post: Post) -> None:
    body = bodies.vector_add("refreshed")
    first = post(body).json()
    post(body)  # now it is in the service's memory too

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
    # times of the back end are of the compile that made it
    for stage in ("ttgir", "llir", "ptx", "cubin"):
        assert second["timings_ms"][stage] == first["timings_ms"][stage]


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
    assert second["timings_ms"]["ptx"] != first["timings_ms"]["ptx"]


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


def test_what_can_be_compiled_for_is_told(http: httpx.Client) -> None:
    told = http.get("/v1/targets").json()

    (toolchain,) = told["toolchains"]
    assert {"cuda:80", "cuda:86", "cuda:90", "cuda:100"} <= set(told["targets"])
    assert toolchain["default"] is True
    num_warps = toolchain["options"]["cuda"]["num_warps"]
    assert (num_warps["type"], num_warps["default"]) == ("int", 4)
