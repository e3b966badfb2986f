"""Tuning runs every configuration on the caller's own tensors, before the first call's own run."""

from __future__ import annotations

import httpx
import pytest

from tests.programs.with_torch.evaluating import Answer, evaluate

REFERENCE = """import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return RESULT

def get_inputs():
    return [torch.randn(256, device="cuda")]
"""
DOUBLED = REFERENCE.replace("RESULT", "x * 2")
HEAD = """import torch
import triton
import triton.language as tl

def zero_out(args, reset_only=False):
    args["out"].zero_()

@triton.autotune(configs=[CONFIGS], key=["n"], **MORE)
@triton.jit
"""
CONFIGS = "triton.Config({'B': 32}), triton.Config({'B': 64})"
IN_PLACE = """def kernel(x, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + at, STORED, at < n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = x.clone()
        kernel[lambda meta: (triton.cdiv(256, meta["B"]),)](out, 256)
        return out
"""
TWO_POINTERS = """def kernel(x, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + at, at < n) * 2
    ACCESS

class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = OUT
        kernel[lambda meta: (triton.cdiv(256, meta["B"]),)](x, out, 256)
        return out
"""
ACCUMULATING = TWO_POINTERS.replace("ACCESS", "tl.atomic_add(out + at, value, at < n)")
STORING = TWO_POINTERS.replace("ACCESS", "tl.store(out + at, value, at < n)")

AGAIN = """        out.zero_()
        kernel[lambda meta: (triton.cdiv(256, meta["B"]),)](x, out, 256)
        return out"""


def in_place(stored: str = "tl.load(x + at, at < n) * 2", more: str = "", **head: str) -> str:
    return tuned(IN_PLACE.replace("STORED", stored), more, **head)


def accumulating(more: str = "", out: str = "torch.zeros_like(x)", **head: str) -> str:
    return tuned(ACCUMULATING.replace("OUT", out), more, **head)


def tuned(body: str, more: str = "", configs: str = CONFIGS) -> str:
    return HEAD.replace("CONFIGS", configs).replace("MORE", f"dict({more})") + body


def of_tuning(program: Answer) -> list[Answer]:
    return [found for found in program["findings"] if found["kind"] == "tuning_side_effect"]


def test_a_kernel_tuned_in_place_is_wrong_in_its_first_call(programs: httpx.Client) -> None:
    program = evaluate(programs, in_place(), DOUBLED)
    assert program["verdict"] == "mismatch", program
    assert program["reward"]["correct"] is False
    [found] = of_tuning(program)
    assert (found["argument"], found["file"], found["line"]) == ("x", "user.py", 10)
    assert 'restore_value=["x"]' in found["message"]


def test_a_kernel_that_accumulates_into_zeros_needs_a_reset(programs: httpx.Client) -> None:
    program = evaluate(programs, accumulating(), DOUBLED)
    assert program["verdict"] == "mismatch", program
    [found] = of_tuning(program)
    assert found["argument"] == "out"
    assert 'reset_to_zero=["out"]' in found["message"]


def test_a_kernel_that_accumulates_into_other_values_needs_them_back(
    programs: httpx.Client,
) -> None:
    plus_one = REFERENCE.replace("RESULT", "x * 2 + 1")
    program = evaluate(programs, accumulating(out="torch.ones_like(x)"), plus_one)
    [found] = of_tuning(program)
    assert 'restore_value=["out"]' in found["message"]


@pytest.mark.parametrize("prepared", ["reset_to_zero=['out']", "restore_value=['out']"])
def test_a_hook_of_the_user_replaces_resets_and_restores(
    programs: httpx.Client, prepared: str
) -> None:
    program = evaluate(
        programs, accumulating(f"pre_hook=lambda *_, **__: None, {prepared}"), DOUBLED
    )
    assert program["verdict"] == "mismatch", program
    assert len(of_tuning(program)) == 1


def test_an_alias_is_tuned_in_place_too(programs: httpx.Client) -> None:
    alias = STORING.replace("OUT", "x.clone()").replace("(x, out, 256)", "(out, out, 256)")
    [found] = of_tuning(evaluate(programs, tuned(alias), DOUBLED))
    assert found["argument"] == "out"


@pytest.mark.parametrize(
    "program",
    [
        in_place(more="restore_value=['x']"),
        accumulating("reset_to_zero=['out']"),
        accumulating("restore_value=['out']"),
        in_place(configs="triton.Config({'B': 32})"),
        in_place(more="prune_configs_by={'early_config_prune': lambda all, *_, **__: all[1:]}"),
        accumulating(
            configs="triton.Config({'B': 32}, pre_hook=zero_out), "
            "triton.Config({'B': 64}, pre_hook=zero_out)"
        ),
        accumulating("pre_hook=zero_out"),
        tuned(STORING.replace("OUT", "torch.empty_like(x)")),
        accumulating().replace("        return out", AGAIN),
    ],
    ids=[
        "restored", "reset", "restored sums", "one configuration", "one left by pruning",
        "zeroed by hooks", "zeroed by one hook", "out of place", "zeroed after tuning",
    ],
)  # fmt: skip
def test_tuning_has_no_side_effect(programs: httpx.Client, program: str) -> None:
    answer = evaluate(programs, program, DOUBLED)
    assert (answer["verdict"], answer["findings"]) == ("passed", []), answer


def test_doing_it_twice_may_give_the_same(programs: httpx.Client) -> None:
    relu = in_place("tl.maximum(tl.load(x + at, at < n), 0.0)")
    answer = evaluate(programs, relu, REFERENCE.replace("RESULT", "torch.relu(x)"))
    assert (answer["verdict"], answer["findings"]) == ("passed", []), answer


def test_memory_that_nothing_reads_later_does_not_count(programs: httpx.Client) -> None:
    counting = STORING.replace(
        "class", "    tl.atomic_add(calls, 1)\n\nclass", 1
    ).replace("(x, out, n,", "(x, out, calls, n,").replace(
        "(x, out, 256)", "(x, out, torch.zeros(1, dtype=torch.int32, device='cuda'), 256)"
    )  # fmt: skip
    answer = evaluate(programs, tuned(counting.replace("OUT", "torch.empty_like(x)")), DOUBLED)
    assert of_tuning(answer) == []


RESIDUAL = """def kernel(x, sum, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + at) + tl.load(sum + at)
    tl.store(sum + at, value)
    tl.store(x + at, value / tl.sqrt(tl.sum(value * value)))

class ModelNew(torch.nn.Module):
    def forward(self, x):
        normalised, sum = x.clone(), x * 2
        kernel[(8,)](normalised, sum, 256)
        return sum, normalised
"""
NORMALISED = """x * 3, torch.nn.functional.normalize(x.view(8, 32)).view(-1)"""


def test_what_to_write_is_enough(programs: httpx.Client) -> None:
    # A second run normalises to the same values, though with only `sum` restored it would not.
    configs = "triton.Config({'B': 32}), triton.Config({'B': 32}, num_warps=8)"
    source = tuned(RESIDUAL, configs=configs)
    [found] = of_tuning(evaluate(programs, source, REFERENCE.replace("RESULT", NORMALISED)))
    assert 'restore_value=["x", "sum"]' in found["message"]
