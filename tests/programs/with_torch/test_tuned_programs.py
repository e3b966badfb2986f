"""Autotuned kernels on the CPU device: both calls run other configs, so a wrong one shows.

The first call runs the first config, the second the last.
"""

from __future__ import annotations

import httpx
import pytest

from tests.programs.with_torch.evaluating import evaluate

REFERENCE = """import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2 + 1

def get_inputs():
    return [torch.randn(256, device="cuda")]
"""
TUNED = """import torch
import triton
import triton.language as tl

@triton.autotune(CONFIGS, key=[], restore_value=["out"])
@triton.jit
def tuned_kernel(x, out, n, BLOCK: tl.constexpr, STEPS: tl.constexpr = 1):
    tl.static_assert(BLOCK <= 512)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, at < n) * 2
    tl.atomic_add(out + at, value, at < n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.ones_like(x)
        tuned_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel())
        return out
"""
WRONG = TUNED.replace("* 2\n", "* (2 if BLOCK < 256 else 3)\n")


def tuned(configs: str, text: str = TUNED) -> str:
    return text.replace("CONFIGS", configs)


def of_blocks(*blocks: int) -> str:
    return "[" + ", ".join(f"triton.Config({{'BLOCK': {block}}})" for block in blocks) + "]"


def test_the_calls_run_the_first_and_last_configuration_and_replays_the_others(
    programs: httpx.Client,
) -> None:
    program = evaluate(programs, tuned(of_blocks(32, 64, 128)), REFERENCE)
    assert program["verdict"] == "passed", program
    [warning] = program["warnings"]
    assert warning.startswith("tuned_kernel (user.py:7) is autotuned: the first call ran BLOCK=32")
    assert "the second BLOCK=128" in warning
    assert "Of its other configurations, 1 ran in replays" in warning
    assert [kernel["launches"] for kernel in program["kernels"]] == [1, 1]


def test_a_last_configuration_that_is_wrong_is_a_mismatch(programs: httpx.Client) -> None:
    program = evaluate(programs, tuned(of_blocks(32, 256), WRONG), REFERENCE)
    assert program["verdict"] == "mismatch", program
    assert "second call" in program["outputs"]["0"]["comparison"]["note"]
    [warning] = program["warnings"]
    assert "leaves" not in warning


def test_one_that_asserts_not_to_be_used_is_left_out_as_triton_does(
    programs: httpx.Client,
) -> None:
    program = evaluate(programs, tuned(of_blocks(1024, 32, 64, 2048)), REFERENCE)
    assert program["verdict"] == "passed", program
    [warning] = program["warnings"]
    assert "the first call ran BLOCK=32" in warning
    assert "the second BLOCK=64" in warning


def test_a_config_with_its_own_hook_is_not_run_without_it(programs: httpx.Client) -> None:
    hooked = (
        "[triton.Config({'BLOCK': 32}), triton.Config({'BLOCK': 64}), "
        "triton.Config({'BLOCK': 256}, pre_hook=lambda args: args['out'].fill_(1))]"
    )
    text = tuned(hooked, WRONG)
    program = evaluate(programs, text, REFERENCE)
    assert program["verdict"] == "passed", program
    assert "the second BLOCK=64" in program["warnings"][0]


@pytest.mark.parametrize("hook", ["one", "lambda args: args['out'].fill_(1)"])
def test_hooks_that_do_the_same_are_one(programs: httpx.Client, hook: str) -> None:
    configs = (
        f"[triton.Config({{'BLOCK': 32}}, pre_hook={hook}),\n"
        f" triton.Config({{'BLOCK': 64}}, pre_hook={hook})]"
    )
    head = "def one(args):\n    args['out'].fill_(1)\n\n"
    text = (
        tuned(configs)
        .replace("ones_like", "empty_like")
        .replace("@triton.auto", head + "@triton.auto")
    )
    program = evaluate(programs, text, REFERENCE)
    assert program["verdict"] == "passed", program
    assert "the second BLOCK=64" in program["warnings"][0]
