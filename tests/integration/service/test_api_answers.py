"""Every documented field and header of a compilation's answer, in each of its states."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from tests.integration.service import bodies
from tests.integration.service.conftest import ADMIN_KEY, Post
from tests.integration.service.running import Deployment

FIELDS = {
    "key", "url", "state", "cache", "queue_position", "kernel", "target", "stop_after", "options",
    "toolchain", "artifacts", "included", "parameters", "abi", "metadata", "resources",
    "timings_ms", "diagnostics", "stdout", "problem", "complete", "assumptions", "assumed", "needs",
}  # fmt: skip
DIAGNOSTIC_FIELDS = {
    "severity", "stage", "message", "hint", "file", "line", "column", "end_line", "end_column",
    "excerpt",
}  # fmt: skip
PROBLEM_FIELDS = {"type", "title", "status", "detail", "instance", "slug", "retryable"}


@pytest.fixture(scope="module")
def made(post: Post) -> httpx.Response:
    """Return a softmax: it uses shared memory, loops, and parameters of every role."""
    body = bodies.good("fused_softmax", include=["ttir", "cubin"])
    body["signature"]["output_row_stride"] = "i32:1"
    body["source"] += "\n# whose every field is looked at\n"
    return post(body)


@pytest.fixture(scope="module")
def compilation(made: httpx.Response) -> dict[str, Any]:
    answer: dict[str, Any] = made.json()
    assert answer["state"] == "succeeded", answer["diagnostics"]
    return answer


def test_a_success_has_every_field(compilation: dict[str, Any]) -> None:
    assert set(compilation) == FIELDS


def test_a_failure_has_every_field(post: Post) -> None:
    failed = post(bodies.broken("unknown_name")).json()

    assert set(failed) == FIELDS
    assert set(failed["diagnostics"][0]) == DIAGNOSTIC_FIELDS
    assert set(failed["problem"]) >= PROBLEM_FIELDS


def test_a_queued_one_has_every_field(idle: Deployment) -> None:
    with idle.client(authorization=f"Bearer {ADMIN_KEY}") as http:
        queued = http.post("/v1/compilations", json=bodies.vector_add("to be seen queued")).json()
        http.delete(queued["url"])

    assert set(queued) == FIELDS
    assert queued["state"] == "queued"
    assert queued["queue_position"] == 1
    assert queued["artifacts"] == queued["included"] == {}
    assert queued["resources"] is queued["abi"] is queued["timings_ms"] is None


def test_it_says_what_was_compiled(compilation: dict[str, Any]) -> None:
    assert re.fullmatch("[0-9a-f]{64}", compilation["key"])
    assert compilation["url"] == f"/v1/compilations/{compilation['key']}"
    assert compilation["cache"] == "miss"
    assert compilation["queue_position"] is None
    assert compilation["kernel"] == "softmax_kernel"
    assert compilation["target"] == "cuda:90"
    assert compilation["stop_after"] == "cubin"
    assert compilation["options"]["num_warps"] == 4
    assert compilation["options"]["num_stages"] == 3
    assert compilation["stdout"] == ""
    assert compilation["problem"] is None


def test_it_names_the_toolchain(compilation: dict[str, Any]) -> None:
    toolchain = compilation["toolchain"]

    assert set(toolchain) == {"id", "triton", "ptxas", "sandbox"}
    assert re.fullmatch(r"3\.\d+\.\d+", toolchain["triton"])
    assert re.match(r"1\d\.\d", toolchain["ptxas"])
    assert toolchain["sandbox"] in {"standard", "strict"}


def test_every_worker_reports_its_sandbox(compilation: dict[str, Any], http: httpx.Client) -> None:
    reports = http.get("/v1/system").json()["sandbox"]

    level = compilation["toolchain"]["sandbox"]
    assert {report["level"] for report in reports.values()} == {level}


def test_each_artifact_is_described(compilation: dict[str, Any]) -> None:
    assert list(compilation["artifacts"]) == ["source", "ttir", "ttgir", "llir", "ptx", "cubin"]
    for stage, artifact in compilation["artifacts"].items():
        assert re.fullmatch("sha256:[0-9a-f]{64}", artifact["digest"])
        assert artifact["size_bytes"] > 1000
        assert artifact["url"] == f"{compilation['url']}/artifacts/{stage}"
    media_types = [artifact["media_type"] for artifact in compilation["artifacts"].values()]
    assert media_types == [
        "text/x-mlir", "text/x-mlir", "text/x-mlir", "text/x-llvm", "text/x-ptx",
        "application/x-elf",
    ]  # fmt: skip


def test_each_parameter_has_its_role(compilation: dict[str, Any]) -> None:
    parameters = {parameter["name"]: parameter for parameter in compilation["parameters"]}

    assert list(parameters) == [
        "output_ptr", "input_ptr", "input_row_stride", "output_row_stride", "n_rows", "n_cols",
        "BLOCK_SIZE", "num_stages",
    ]  # fmt: skip
    assert parameters["input_ptr"] == {
        "name": "input_ptr",
        "type": "*fp32",
        "role": "runtime",
        "hints": ["divisible_by_16"],
        "value": None,
    }
    assert parameters["output_row_stride"]["role"] == "specialized"
    assert parameters["output_row_stride"]["value"] == 1
    assert parameters["BLOCK_SIZE"]["role"] == "constexpr"
    assert parameters["BLOCK_SIZE"]["value"] == 1024


def test_the_abi_is_all_that_a_launcher_needs(compilation: dict[str, Any]) -> None:
    abi = compilation["abi"]

    assert abi["entry"] == "softmax_kernel"
    assert abi["block"] == [128, 1, 1]
    assert abi["cluster"] == [1, 1, 1]
    assert abi["dynamic_shared_bytes"] == compilation["metadata"]["shared_bytes"]
    assert abi["cooperative"] is abi["pdl"] is False
    assert [(p["index"], p["kind"], p["name"], p["size_bytes"]) for p in abi["parameters"]] == [
        (0, "pointer", "output_ptr", 8),
        (1, "pointer", "input_ptr", 8),
        (2, "scalar", "input_row_stride", 4),
        (3, "scalar", "n_rows", 4),
        (4, "scalar", "n_cols", 4),
        (5, "global_scratch", "global_scratch", 8),
        (6, "profile_scratch", "profile_scratch", 8),
    ]
    assert all(p["align_bytes"] == p["size_bytes"] for p in abi["parameters"])
    assert abi["global_scratch"]["size_bytes"] == abi["profile_scratch"]["size_bytes"] == 0


def test_metadata_and_resources_are_known_without_a_gpu(compilation: dict[str, Any]) -> None:
    metadata, resources = compilation["metadata"], compilation["resources"]

    assert {"num_warps", "num_stages", "num_ctas", "shared_bytes"} <= set(metadata)
    assert metadata["shared_bytes"] > 0
    assert resources["backend"] == "cuda"
    assert 0 < resources["registers"] <= 255
    assert resources["spill_store_bytes"] == resources["spill_load_bytes"] == 0
    assert resources["stack_bytes"] == 0
    assert resources["shared_bytes"] == metadata["shared_bytes"]
    assert resources["fits"] is True
    assert set(resources["occupancy"]) >= {"blocks_per_sm", "warps_per_sm", "ratio", "limited_by"}
    assert 0 < resources["occupancy"]["ratio"] <= 1


def test_timings_are_of_the_compile_that_made_it(compilation: dict[str, Any]) -> None:
    timings = compilation["timings_ms"]

    assert {"cut", "frontend", "ttgir", "llir", "ptx", "cubin", "total"} <= set(timings)
    assert all(ms > 0 for ms in timings.values())
    assert timings["total"] >= timings["ttgir"] + timings["llir"] + timings["ptx"]


def test_included_artifacts_are_text_or_base64(compilation: dict[str, Any]) -> None:
    included = compilation["included"]

    assert set(included) == {"ttir", "cubin"}
    assert "tt.func public @softmax_kernel" in included["ttir"]
    assert included["cubin"].startswith("f0VMR")  # an ELF file in base64


def test_the_headers_of_a_miss(made: httpx.Response) -> None:
    assert made.status_code == 200
    assert made.headers["location"] == made.json()["url"]
    assert made.headers["cache-status"] == "tritond; fwd=miss"
    assert re.match(r"total;dur=\d+", made.headers["server-timing"])
    assert made.headers["x-request-id"]
    assert "retry-after" not in made.headers


def test_a_hit_from_memory_has_the_same_headers_as_one_from_the_store(post: Post) -> None:
    body = bodies.vector_add("thrice")
    _, from_store, from_memory = post(body), post(body), post(body)

    assert from_memory.json() == from_store.json()
    for name in ("location", "cache-status", "content-type"):
        assert from_memory.headers[name] == from_store.headers[name]
    assert "server-timing" in from_memory.headers


def test_a_request_id_is_taken_and_returned(http: httpx.Client) -> None:
    answer = http.get("/healthz", headers={"X-Request-ID": "build-17/step.4"})

    assert answer.headers["x-request-id"] == "build-17/step.4"


def test_a_request_id_that_could_split_a_log_line_is_replaced(http: httpx.Client) -> None:
    answer = http.get("/healthz", headers={"X-Request-ID": "a b\tc"})

    assert re.fullmatch("[0-9a-f]{16}", answer.headers["x-request-id"])


def test_the_request_is_kept_with_its_options_resolved(post: Post, http: httpx.Client) -> None:
    body = bodies.vector_add("to be read again", options={"num_warps": 8})
    made = post(body).json()

    kept = http.get(f"{made['url']}/request").json()

    assert kept["source"] == body["source"]
    assert kept["options"] == made["options"]
    assert kept["constexprs"] == {"BLOCK_SIZE": 1024}
    assert kept["hints"]["x_ptr"] == ["divisible_by_16"]
    assert post(kept).json()["key"] == made["key"]


def test_what_is_printed_while_compiling_is_reported_and_replayed_on_a_hit(post: Post) -> None:
    body = bodies.running("print('block size chosen: 64')")
    made, again = post(body).json(), post(body).json()

    assert made["stdout"] == "block size chosen: 64\n"
    assert (again["cache"], again["stdout"]) == ("hit", made["stdout"])
