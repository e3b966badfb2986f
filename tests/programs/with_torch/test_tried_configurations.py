"""Each configuration of an autotuned kernel runs once, and a wrong one is a finding."""

from __future__ import annotations

import httpx
import pytest

from tests.programs.with_torch.evaluating import Answer, evaluate

REFERENCE = """import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2

def get_inputs():
    return [torch.randn(256, device="cuda")]
"""
PROGRAM = """import torch
import triton
import triton.language as tl

@triton.autotune(configs=[triton.Config({'B': B}, num_warps=W) for B, W in CONFIGS], key=["n"])
@triton.jit
def kernel(x, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    CHECK
    tl.store(out + at, tl.load(x + at, at < n) * FACTOR, MASK)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        kernel[lambda meta: (triton.cdiv(256, meta["B"]),)](x, out, 256)
        return out
"""
THREE = "[(32, 4), (64, 4), (128, 4)]"


def tuned(
    programs: httpx.Client,
    configs: str = THREE,
    factor: str = "2",
    mask: str = "at < n",
    check: str = "",
) -> Answer:
    source = PROGRAM.replace("CONFIGS", configs).replace("FACTOR", factor).replace("MASK", mask)
    return evaluate(programs, source.replace("CHECK", check or "pass"), REFERENCE)


def test_a_configuration_in_the_middle_that_is_wrong_is_a_mismatch(programs: httpx.Client) -> None:
    answer = tuned(programs, factor="(3 if B == 64 else 2)")

    assert answer["verdict"] == "mismatch", answer
    [finding] = answer["findings"]
    assert (finding["kind"], finding["line"]) == ("wrong_configuration", 7)
    assert "B=64" in finding["message"]
    assert not answer["reward"]["correct"]


def test_a_configuration_that_writes_out_of_bounds_is_named(programs: httpx.Client) -> None:
    answer = tuned(programs, mask="(at < n) | (B == 64)", configs="[(32, 4), (512, 4), (64, 4)]")
    assert answer["verdict"] == "passed", answer

    answer = tuned(programs, mask="(at < n) | (B == 512)", configs="[(32, 4), (512, 4), (64, 4)]")
    assert answer["verdict"] == "out_of_bounds", answer
    assert answer["findings"][0]["message"].startswith("With B=512")


def test_a_configuration_in_the_middle_that_does_not_compile_fails(programs: httpx.Client) -> None:
    answer = tuned(programs, configs="[(32, 4), (48, 4), (64, 4)]")

    assert answer["verdict"] is None
    assert "power of 2" in answer["problem"]["detail"]


@pytest.mark.parametrize(
    ("configs", "count"), [(THREE, 1), ("[(32, 4), (32, 8), (64, 2), (64, 4)]", 2)]
)
def test_the_configurations_that_ran_are_counted(
    programs: httpx.Client, configs: str, count: int
) -> None:
    answer = tuned(programs, configs)

    assert answer["verdict"] == "passed", answer
    [warning] = [one for one in answer["warnings"] if "is autotuned" in one]
    assert f"{count} ran in replays of the first call" in warning
    assert "did not run" not in warning


def test_a_configuration_that_its_own_assertion_refuses_is_left_out(programs: httpx.Client) -> None:
    answer = tuned(programs, check='tl.static_assert(B != 64, "too small")')

    assert answer["verdict"] == "passed", answer
