"""Facts about a source's kernels over HTTP."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.integration.compiler.kernels import KERNELS

AUTOTUNED = """
import os, torch, triton
import triton.language as tl

os._exit(3)

@triton.jit
def scale(x, by: tl.constexpr = 2):
    return x * by


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 128}, num_warps=4),
        triton.Config({"BLOCK": 256, "TYPE": tl.float16}, num_warps=8, num_stages=2),
    ],
    key=["n"],
)
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit(do_not_specialize=["n"])
def kernel(x_ptr: "*fp32", n, EVEN: tl.constexpr, BLOCK: tl.constexpr,
           TYPE: tl.constexpr = tl.float32,
           SCALE: tl.constexpr = 2 ** 3, eps=1e-5, nothing=None):
    tl.store(x_ptr + tl.arange(0, BLOCK), scale(eps))
"""


def inspect(http: httpx.Client, source: str, **fields: Any) -> httpx.Response:
    return http.post("/v1/inspect", params={"wait": 60}, json={"source": source, **fields})


def test_parameters_configurations_heuristics_and_calls_are_reported(http: httpx.Client) -> None:
    answer = inspect(http, AUTOTUNED)

    assert answer.status_code == 200
    body = answer.json()
    assert (body["state"], body["problem"], body["diagnostics"]) == ("succeeded", None, [])
    scale, kernel = body["kernels"]
    assert (scale["name"], kernel["name"]) == ("scale", "kernel")
    assert kernel["calls"] == ["scale"]
    assert kernel["heuristics"] == ["EVEN"]
    assert kernel["configs"] == [
        {
            "constexprs": {"BLOCK": {"literal": 128}},
            "options": {"num_warps": {"literal": 4}},
        },
        {
            "constexprs": {"BLOCK": {"literal": 256}, "TYPE": {"literal": {"dtype": "fp16"}}},
            "options": {"num_warps": {"literal": 8}, "num_stages": {"literal": 2}},
        },
    ]
    reported = {p["name"]: p for p in kernel["parameters"]}
    assert list(reported) == ["x_ptr", "n", "EVEN", "BLOCK", "TYPE", "SCALE", "eps", "nothing"]
    assert reported["x_ptr"]["annotation"] == "*fp32"
    assert reported["n"]["do_not_specialize"] is True
    assert reported["BLOCK"]["constexpr"] is True
    assert reported["BLOCK"]["default"] is None
    assert reported["TYPE"]["default"] == {"literal": {"dtype": "fp32"}}
    assert reported["SCALE"]["default"] == {"expression": "2 ** 3"}
    assert reported["eps"]["default"] == {"literal": 1e-5}
    assert reported["nothing"]["default"] == {"literal": None}


def test_types_are_proposed_with_the_line_that_implies_them(http: httpx.Client) -> None:
    body = inspect(http, AUTOTUNED).json()

    proposed = {p["name"]: p["proposal"] for p in body["kernels"][1]["parameters"]}
    assert proposed["BLOCK"]["values"] == [128, 256]
    assert proposed["TYPE"]["values"] == [{"dtype": "fp16"}]
    assert proposed["x_ptr"] == {
        "type": "*fp32",
        "hints": ["divisible_by_16"],
        "values": [],
        "line": 21,
        "reason": "is annotated *fp32",
        "confidence": "high",
        "assumed_hints": [],
        "passed": False,
        "dtype_of": None,
    }


LAUNCHED = """
import torch, triton
import triton.language as tl

@triton.jit
def fill(x_ptr, n, bias_ptr, BLOCK: tl.constexpr = 64):
    tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)

if __name__ == "__main__":
    x = torch.empty(96, device="cuda", dtype=torch.float16)
    fill[(1,)](x, x.numel(), None, BLOCK=128, num_warps=8)
"""


def test_what_a_launch_of_the_file_passes_is_proposed(http: httpx.Client) -> None:
    (kernel,) = inspect(http, LAUNCHED).json()["kernels"]

    assert kernel["launch"] == {
        "file": "user.py",
        "line": 11,
        "options": {"num_warps": 8},
        "other_lines": [],
        "shapes": {"x_ptr": [96]},
        "scalars": {"n": 96},
        "grid": [1],
    }
    assert {one["parameter"]: one["value"] for one in kernel["assumed"]} == {
        "x_ptr": "*fp16:16",
        "n": "i32:16",
        "bias_ptr": None,
        "BLOCK": 128,
    }
    x_ptr, n, *_ = (parameter["proposal"] for parameter in kernel["parameters"])
    assert x_ptr["reason"] == "the launch on line 11 passes it"
    assert (x_ptr["assumed_hints"], n["assumed_hints"]) == ([], ["divisible_by_16"])


def test_the_line_that_kept_a_launch_from_being_used_is_a_warning(http: httpx.Client) -> None:
    text = LAUNCHED.replace("torch.empty(96", "torch.empty(int(__import__('sys').argv[1])")

    (kernel,) = inspect(http, text).json()["kernels"]

    assert kernel["launch"] is None
    assert kernel["warnings"] == [
        "the launch on line 11 was not used: line 10 raises IndexError: list index out of range"
    ]


def test_modules_that_a_launch_lacks_are_asked_for(http: httpx.Client) -> None:
    text = LAUNCHED.replace("torch.empty(96", "torch.empty(SIZE").replace(
        "import torch", "from sizes import SIZE\nimport torch", 1
    )

    asked = inspect(http, text, module="user").json()
    sent = inspect(http, text, module="user", files={"sizes.py": "SIZE = 96\n"}).json()

    assert (asked["needs"], sent["needs"]) == (["sizes"], [])
    assert sent["kernels"][0]["launch"]["line"] == 12


def test_a_file_whose_functions_are_not_called_is_not_run(http: httpx.Client) -> None:
    text = LAUNCHED.replace('if __name__ == "__main__":', "import pkg\n\ndef host():")

    (kernel,) = inspect(http, text).json()["kernels"]

    assert (kernel["launched"], kernel["warnings"]) == (True, [])


def test_a_script_that_ends_its_process_is_inspected_by_its_text(http: httpx.Client) -> None:
    (kernel,) = inspect(http, LAUNCHED.replace("x = torch", "import os; os._exit(3)")).json()[
        "kernels"
    ]

    assert kernel["launch"] is None
    assert (
        kernel["parameters"][1]["proposal"] is None
        or not kernel["parameters"][1]["proposal"]["passed"]
    )


@pytest.mark.parametrize("value", ["'x' * 10_000_000", "'\\ud800'", "object()", "((1,),) * 999"])
def test_a_launch_that_no_request_could_make_changes_no_proposal(
    http: httpx.Client, value: str
) -> None:
    answer = inspect(http, LAUNCHED.replace("BLOCK=128", f"BLOCK={value}")).json()

    assert answer["state"] == "succeeded"
    assert not answer["kernels"][0]["parameters"][3]["proposal"]["passed"]


def test_a_descriptor_that_a_launch_passes_is_proposed(http: httpx.Client) -> None:
    descriptor = (
        "from triton.tools.tensor_descriptor import TensorDescriptor as D\n"
        "    x = D.from_tensor(torch.empty(64, 64, device='cuda'), [16, 32])"
    )
    text = LAUNCHED.replace('x = torch.empty(96, device="cuda", dtype=torch.float16)', descriptor)

    (kernel,) = inspect(http, text.replace("x.numel()", "96")).json()["kernels"]

    assert kernel["parameters"][0]["proposal"]["type"] == "tensordesc<fp32[16,32]>"


def test_a_source_without_kernels_has_none(http: httpx.Client) -> None:
    body = inspect(http, "import triton\n").json()

    assert (body["state"], body["kernels"]) == ("succeeded", [])


def test_a_source_that_is_no_python_says_where(http: httpx.Client) -> None:
    text = (KERNELS / "broken" / "colon_missing.py").read_text()

    body = inspect(http, text).json()

    assert body["state"] == "failed"
    assert body["kernels"] == []
    assert body["problem"]["slug"] == "syntax_error"
    [error] = body["diagnostics"]
    assert error["line"] > 1
    assert error["excerpt"].split("\n")[0] == text.split("\n")[error["line"] - 1]


def test_the_second_time_it_is_a_hit(http: httpx.Client) -> None:
    source = "x = 'asked for twice'\n"

    first, second = inspect(http, source), inspect(http, source)

    assert first.headers["Cache-Status"] == "tritond; fwd=miss"
    assert second.headers["Cache-Status"] == "tritond; hit"
    assert first.json() == second.json()


def test_without_a_wait_it_is_waited_for_all_the_same(http: httpx.Client) -> None:
    assert http.post("/v1/inspect", json={"source": "no = 'wait'\n"}).status_code == 200


def test_a_client_that_does_not_wait_is_asked_to_come_back(http: httpx.Client) -> None:
    answer = http.post("/v1/inspect", params={"wait": 0}, json={"source": "a = 'zero wait'\n"})

    assert answer.status_code == 202
    assert answer.headers["Retry-After"]
    assert answer.json()["state"] in {"queued", "running"}
    assert inspect(http, "a = 'zero wait'\n").json()["state"] == "succeeded"


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no source": ({}, "/source"),
    "an empty source": ({"source": ""}, "/source"),
    "NUL": ({"source": "\0"}, "/source"),
    "an unknown field": ({"source": "x", "kernel": "k"}, "/kernel"),
    "a file that is no module": ({"source": "x", "files": {"../a.py": ""}}, "/files/..~1a.py"),
}


@pytest.mark.parametrize(("body", "pointer"), REFUSED.values(), ids=REFUSED)
def test_an_invalid_request_is_refused(
    http: httpx.Client, body: dict[str, Any], pointer: str
) -> None:
    answer = http.post("/v1/inspect", json=body)

    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


def test_a_body_that_is_no_json_is_400(http: httpx.Client) -> None:
    headers = {"Content-Type": "application/json"}

    assert http.post("/v1/inspect", content=b"{", headers=headers).status_code == 400


BY_CODE = """
import itertools, torch, triton
import triton.language as tl

WIDEST = 8
ON_AMD = triton.runtime.driver.active.get_current_target().backend == "hip"

def sizes():
    return [64] if ON_AMD else [64, 128]

@triton.autotune(
    configs=[
        triton.Config({"BLOCK": block, "TYPE": tl.float16}, num_warps=warps)
        for block, warps in itertools.product(sizes(), [4, WIDEST])
    ],
    key=["n"],
    prune_configs_by={"early_config_prune": lambda configs, *_, **__: configs},
    restore_value=["x_ptr"],
)
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0,
                    "HALF": lambda args: args["x_ptr"].element_size() == 2})
@triton.jit
def scale(x_ptr, n, BLOCK: tl.constexpr, TYPE: tl.constexpr, EVEN: tl.constexpr,
          HALF: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets) * 2)

x = torch.rand(100)
scale[(1,)](x, 100)
"""


def test_with_a_target_the_autotuner_itself_is_asked(http: httpx.Client) -> None:
    body = inspect(http, BY_CODE, target="cuda:90").json()

    assert (body["state"], body["problem"]) == ("succeeded", None)
    assert "expression" in body["kernels"][0]["configs"][0]  # all that the text contains
    reported = body["autotune"]
    assert (reported["kernel"], reported["target"], reported["is_autotuned"]) == (
        "scale",
        "cuda:90",
        True,
    )
    tried = [(item["values"], item["options"]["num_warps"]) for item in reported["configs"]]
    half = {"dtype": "fp16"}
    assert tried == [
        ({"BLOCK": 64, "TYPE": half}, 4),
        ({"BLOCK": 64, "TYPE": half}, 8),
        ({"BLOCK": 128, "TYPE": half}, 4),
        ({"BLOCK": 128, "TYPE": half}, 8),
    ]
    assert (reported["key"], reported["restore_value"]) == (["n"], ["x_ptr"])
    assert reported["hooks"] == ["early_config_prune"]
    even, half_wide = reported["heuristics"]
    assert (even["name"], even["expression"], even["why_not"]) == ("EVEN", "n % BLOCK == 0", None)
    assert half_wide["expression"] is None
    assert half_wide["why_not"].startswith("it calls `args['x_ptr'].element_size`")
    line = BY_CODE.split("\n").index(
        '@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0,'
    )
    assert (even["line"], half_wide["line"]) == (line + 1, line + 2)
    assert reported["assumptions"]  # that there is such a GPU


def test_another_target_may_have_other_configurations(http: httpx.Client) -> None:
    reported = inspect(http, BY_CODE, target="hip:gfx942").json()["autotune"]

    assert {item["values"]["BLOCK"] for item in reported["configs"]} == {64}


def test_a_source_that_cannot_be_executed_says_so_with_its_line(http: httpx.Client) -> None:
    source = BY_CODE.replace("WIDEST = 8", "WIDEST = 8 // 0")

    body = inspect(http, source, target="cuda:90").json()

    assert (body["state"], body["problem"]["slug"]) == ("failed", "compile_error")
    assert "ZeroDivisionError" in body["problem"]["detail"]
    assert body["autotune"] is None


def test_a_source_that_ends_its_process_is_reported(http: httpx.Client) -> None:
    body = inspect(http, AUTOTUNED, kernel="kernel", target="cuda:90").json()

    assert (body["state"], body["problem"]["slug"]) == ("failed", "sandbox_violation")
    assert "os._exit" in body["problem"]["detail"]


def test_a_kernel_is_named_together_with_a_target_only(http: httpx.Client) -> None:
    answer = inspect(http, BY_CODE, kernel="scale")

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/kernel")


def test_a_target_that_is_not_offered_is_refused(http: httpx.Client) -> None:
    answer = inspect(http, BY_CODE, target="cuda:101")

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/target")
