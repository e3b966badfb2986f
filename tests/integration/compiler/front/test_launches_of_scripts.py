"""Arguments of the launches of a script, recorded without torch and a GPU."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.compiler.children import Children

HEAD = "import torch\nimport triton\nimport triton.language as tl\n"
KERNEL = (
    "@triton.jit\n"
    "def k(x_ptr, n, s, BLOCK: tl.constexpr):\n"
    "    offsets = tl.arange(0, BLOCK)\n"
    "    tl.store(x_ptr + offsets * s, 0.0, mask=offsets < n)\n"
)
TARGET = {"backend": "cuda", "arch": 90, "warp_size": 32}


def launches(children: Children, text: str) -> list[dict[str, Any]]:
    header = {"task": "launches", "kernel": None, "target": TARGET}
    found: list[dict[str, Any]] = children.run(header, (HEAD + text).encode()).result["launches"]
    return found


def passed(children: Children, text: str) -> dict[str, Any]:
    (launch,) = launches(children, KERNEL + text)
    return {
        each["name"]: (each["type"], each["hints"], each["value"]) for each in launch["parameters"]
    }


ALIGNED = ["divisible_by_16"]


def test_a_launch_is_specialized_as_the_jit_does(children: Children) -> None:
    text = (
        "x = torch.empty(64, 48, device='cuda', dtype=torch.float16)\n"
        "k[(1,)](x, 64, x.stride(1), 32)\n"
    )

    assert passed(children, text) == {
        "x_ptr": ("*fp16", ALIGNED, None),
        "n": ("i32", ALIGNED, None),
        "s": ("i32", ["equal_to_1"], None),
        "BLOCK": ("constexpr", [], {"int": "32"}),
    }


@pytest.mark.parametrize(
    ("argument", "kind", "hints"),
    [
        ("torch.ones(8).cuda().half()", "*fp16", ALIGNED),
        ("torch.arange(8, device='cuda')", "*i64", ALIGNED),
        ("torch.rand(8, device='cuda')[1:]", "*fp32", []),
        ("torch.rand(8, 8, device='cuda').t().contiguous() > 0", "*u1", ALIGNED),
        ("torch.randn(4, 8, dtype=torch.bfloat16) @ torch.randn(8, 4, dtype=torch.bfloat16)",
         "*bf16", ALIGNED),
        ("torch.nn.functional.softmax(torch.rand(2, 2), dim=-1)", "*fp32", ALIGNED),
    ],
)  # fmt: skip
def test_tensors_have_the_dtype_and_alignment_that_torch_gives_them(
    children: Children, argument: str, kind: str, hints: list[str]
) -> None:
    found = passed(children, f"k[(1,)]({argument}, 7, 2, BLOCK=16)\n")

    assert found["x_ptr"] == (kind, hints, None)
    assert found["n"] == ("i32", [], None)


def test_code_under_main_runs_and_a_check_of_results_passes(children: Children) -> None:
    text = (
        "def host(x):\n"
        "    assert x.is_cuda and x.is_contiguous()\n"
        "    k[lambda meta: (triton.cdiv(x.numel(), meta['BLOCK']),)](x, x.numel(), 1, BLOCK=64)\n"
        "    return x\n"
        "if __name__ == '__main__':\n"
        "    out = host(torch.rand(100, device='cuda'))\n"
        "    torch.testing.assert_close(out, torch.zeros_like(out))\n"
        "    host(torch.rand(101, device='cuda'))\n"
    )

    assert passed(children, text)["n"] == ("i32", [], None)


def test_a_launch_has_its_sizes_and_the_grid_that_a_function_gives(children: Children) -> None:
    text = (
        "x = torch.rand(8, 30, device='cuda')[:, :20]\n"
        "k[lambda meta: (triton.cdiv(100, meta['BLOCK']), 3)](x, 100, x.stride(1), BLOCK=64)\n"
    )

    (launch,) = launches(children, KERNEL + text)

    assert launch["grid"] == [2, 3]
    x, n, *_ = launch["parameters"]
    assert (x["shape"], n["number"]) == ([7 * 30 + 20], 100)


def test_a_grid_that_fails_leaves_the_types_of_the_launch(children: Children) -> None:
    call = "k[lambda meta: (1 // 0,)](torch.rand(16, device='cuda'), 16, 1, BLOCK=16)\n"

    (launch,) = launches(children, KERNEL + call)

    assert (launch["grid"], launch["parameters"][0]["type"]) == (None, "*fp32")


def test_further_launches_of_a_kernel_are_listed(children: Children) -> None:
    call = "k[(1,)](torch.rand(16, device='cuda'), 16, 1, BLOCK=16)\n"

    (launch,) = launches(children, KERNEL + call + call)

    assert (launch["line"], launch["other_lines"]) == (8, [9])


def test_the_first_configuration_of_an_autotuned_kernel_is_launched(children: Children) -> None:
    configs = "[triton.Config({'BLOCK': 64}, num_warps=2), triton.Config({'BLOCK': 128})]"
    text = f"@triton.autotune({configs}, key=['n'])\n{KERNEL}"
    call = "k[(1,)](torch.rand(16, device='cuda'), 16, 1)\n"

    (launch,) = launches(children, text + call)

    assert launch["parameters"][3]["value"] == {"int": "64"}
    assert launch["options"]["num_warps"] == 2


def test_a_function_of_torch_that_is_not_known_is_marked_as_a_guess(children: Children) -> None:
    text = (
        "x = torch.some_new_operation(torch.rand(16, device='cuda'))\nk[(1,)](x, 16, 1, BLOCK=16)\n"
    )

    (launch,) = launches(children, KERNEL + text)

    assert launch["parameters"][0]["is_guess"]


def test_what_is_launched_before_a_failure_counts(children: Children) -> None:
    call = "k[(1,)](torch.rand(16, device='cuda'), 16, 1, BLOCK=16)\nraise SystemExit(1)\n"

    assert len(launches(children, KERNEL + call)) == 1


def test_launches_of_a_backward_are_recorded(children: Children) -> None:
    text = (
        "class F(torch.autograd.Function):\n"
        "    @staticmethod\n"
        "    def forward(ctx, x):\n        return torch.empty_like(x)\n"
        "    @staticmethod\n"
        "    def backward(ctx, dy):\n        k[(1,)](dy, 16, dy.stride(0), BLOCK=16)\n"
        "x = torch.rand(16, device='cuda', requires_grad=True)\n"
        "F.apply(x).sum().backward()\n"
    )

    assert passed(children, text)["s"] == ("i32", ALIGNED, None)  # a sum's gradient is expanded


@pytest.mark.parametrize(
    ("lines", "stop"),
    [
        ("import sys\nN = int(sys.argv[1])\nx = torch.rand(N)\n", "line 9 raises IndexError"),
        ("raise ValueError('no GPU')\n", "line 8 raises ValueError: no GPU"),
        ("import cupy\nx = cupy.zeros(4)\n", "line 8 raises ModuleNotFoundError"),
    ],
)
def test_the_line_that_kept_a_script_from_its_launch_is_reported(
    children: Children, lines: str, stop: str
) -> None:
    header = {"task": "launches", "kernel": None, "target": TARGET}
    text = f"{HEAD}{KERNEL}{lines}k[(1,)](x, 16, 1, BLOCK=16)\n"

    report = children.run(header, text.encode()).result

    assert report["launches"] == []
    assert report["stop"].startswith(stop), report["stop"]


def test_a_script_that_runs_to_its_end_has_no_stop(children: Children) -> None:
    header = {"task": "launches", "kernel": None, "target": TARGET}

    assert children.run(header, (HEAD + KERNEL).encode()).result["stop"] is None
