"""Kernels that do their work in some runs only, from the request to the verdict.

Service, store, compilation, launcher, references and comparisons are real. CUDA is a fake whose
kernels are Python (launcher_on_fake_cuda.py); tests/gpu covers the rest.
"""

from __future__ import annotations

from typing import Any

import httpx

COUNT = 1000
KERNEL = """import triton
import triton.language as tl

@triton.jit
def {name}(x_ptr, output_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(output_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask), mask)
"""
COUNTER = (
    '    tl.inline_asm_elementwise("{ .global .align 4 .u32 run_count; .reg .b64 a; '
    'mov.u64 a, run_count; atom.global.add.u32 $0, [a], 1; }", "=r,r", [n], dtype=tl.int32, '
    "is_pure=False, pack=1)\n"
)


def launched(
    gpu: httpx.Client, name: str, *, reference: bool = True, text: str = "", **timing: Any
) -> dict[str, Any]:
    body = {
        "compilation": {
            "source": KERNEL.format(name=name) + text,
            "constexprs": {"BLOCK": 1024},
            "target": "cuda:90",
        },
        "device": {"target": "cuda:90"},
        "grid": [1],
        "arguments": {
            "x_ptr": {"shape": [COUNT], "dtype": "fp32", "init": {"kind": "uniform", "seed": 1}},
            "output_ptr": {"shape": [COUNT], "dtype": "fp32", "output": True},
            "n": COUNT,
        },
        "timing": {"min_repeats": 50, "max_ms": 20_000, "warmup_repeats": 1, **timing},
    }
    if reference:
        body["reference"] = {"source": "def reference(x_ptr, **_):\n    return x_ptr * 2\n"}
    answer = gpu.post("/v1/launches", params={"wait": 60}, json=body)
    assert answer.status_code == 200, answer.text
    launch: dict[str, Any] = answer.json()
    assert launch["state"] == "completed", launch["problem"]
    return launch


def kinds(launch: dict[str, Any]) -> list[str]:
    return [one["kind"] for one in launch["findings"]]


def test_an_honest_kernel_passes_and_all_its_runs_were_looked_at(gpu: httpx.Client) -> None:
    launch = launched(gpu, "double", fresh_inputs="values")
    timing = launch["timing"]

    assert (launch["verdict"], launch["findings"]) == ("passed", [])
    assert (timing["checked_repeats"], timing["differing_repeats"]) == (50, 0)
    assert [one["matches"] for one in timing["compared_repeats"]] == [True] * 3
    assert len({one["seeds"]["x_ptr"] for one in timing["compared_repeats"]}) == 3


def test_a_kernel_that_skips_timed_runs_is_a_mismatch_with_any_inputs(gpu: httpx.Client) -> None:
    for fresh in (False, True, "values"):
        launch = launched(gpu, "skips_13_to_40", fresh_inputs=fresh)

        assert launch["verdict"] == "mismatch"
        assert "state_kept" in kinds(launch)
        assert launch["outputs"]["output_ptr"]["comparison"]["matches"] is True
        assert launch["timing"]["differing_repeats"] == 28


def test_what_a_repeat_is_wrong_with_can_be_posted_on_its_own(gpu: httpx.Client) -> None:
    launch = launched(gpu, "skips_13_to_40", fresh_inputs="values")
    [finding] = (one for one in launch["findings"] if one["kind"] == "state_kept" and one["seeds"])

    assert finding["argument"] == "output_ptr"
    assert f"x_ptr {finding['seeds']['x_ptr']}." in finding["message"]
    assert "did not write 4000 bytes of its outputs that the first run wrote" in finding["message"]


def test_a_replayed_result_passes_on_equal_inputs_and_not_on_others(gpu: httpx.Client) -> None:
    assert launched(gpu, "replays")["verdict"] == "passed"

    launch = launched(gpu, "replays", fresh_inputs="values")

    assert launch["verdict"] == "mismatch"
    assert "an earlier result" in " ".join(one["message"] for one in launch["findings"])


def test_a_kernel_that_is_wrong_for_other_values_keeps_nothing(gpu: httpx.Client) -> None:
    assert launched(gpu, "right_for_one_seed")["verdict"] == "passed"

    launch = launched(gpu, "right_for_one_seed", fresh_inputs="values")

    assert (launch["verdict"], kinds(launch)) == ("mismatch", ["mismatch"])


def test_without_a_reference_what_was_left_out_is_a_finding(gpu: httpx.Client) -> None:
    launch = launched(gpu, "skips_13_to_40", reference=False, fresh_inputs="values")

    assert launch["verdict"] == "not_checked"
    assert "state_kept" in kinds(launch)


def test_a_variable_of_the_module_is_reported_with_its_line(gpu: httpx.Client) -> None:
    launch = launched(gpu, "double", text=COUNTER)

    [finding] = launch["findings"]
    assert (launch["verdict"], finding["kind"]) == ("passed", "state_kept")
    assert (finding["file"], finding["line"]) == ("user.py", 9)
    assert "a global variable run_count of 4 bytes" in finding["message"]


def test_values_of_their_own_are_refused_on_the_cpu(gpu: httpx.Client) -> None:
    body = {
        "compilation": {"source": KERNEL.format(name="double"), "constexprs": {"BLOCK": 1024}},
        "device": "cpu",
        "grid": [1],
        "arguments": {
            "x_ptr": {"shape": [COUNT], "dtype": "fp32", "init": {"kind": "uniform"}},
            "output_ptr": {"shape": [COUNT], "dtype": "fp32", "output": True},
            "n": COUNT,
        },
        "timing": {"fresh_inputs": "values"},
    }

    answer = gpu.post("/v1/launches", json=body)

    assert answer.status_code == 422
    assert [one["pointer"] for one in answer.json()["errors"]] == ["/timing/fresh_inputs"]


def test_a_devices_ceilings_are_listed(gpu: httpx.Client) -> None:
    [device] = gpu.get("/v1/devices").json()["devices"]

    assert device["ceilings"]["memory_bytes_per_s"] > 0
    assert device["ceilings"]["flops_per_s"]["fp16"] == 4096 * 4 * 1e9
