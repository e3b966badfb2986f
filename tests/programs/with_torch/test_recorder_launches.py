"""Launches of Triton kernels, and wrappers between a program and its kernel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from programs.tape.schema import (
    AtenOp,
    DtypeName,
    KernelArgument,
    Tape,
    TapeDescriptor,
    TapeLaunch,
)
from tests.programs.with_torch.recording_process import RecordingProcess

HEAD = "import torch\nimport triton\nimport triton.language as tl\n"
BODY = "    i = tl.arange(0, B)\n    tl.store(out + i, tl.load(x + i, i < n) * 2, i < n)\n"
DATA = "x = torch.rand(8, device='cuda')\nout = torch.zeros_like(x)\n"


@pytest.fixture(scope="module")
def recorder() -> Iterator[RecordingProcess]:
    process = RecordingProcess()
    yield process
    process.close()


def tape_of(recorder: RecordingProcess, source: str, *entries: Any, **order: Any) -> Tape:
    return recorder.tape(HEAD + source, *entries, **order)


def refusal(recorder: RecordingProcess, source: str) -> Any:
    return recorder.refusal(HEAD + source)


def launches(tape: Tape) -> list[TapeLaunch]:
    return [op for op in tape.ops if isinstance(op, TapeLaunch)]


AUTOTUNED = f"""
@triton.autotune(
    [triton.Config({{"B": 16}}), triton.Config({{"B": 32}}, num_warps=8, num_stages=2)],
    key=["n"],
    reset_to_zero=["out"],
)
@triton.heuristics({{"EVEN": lambda args: args["n"] % args["B"] == 0}})
@triton.jit
def kernel(x, out, n, B: tl.constexpr, EVEN: tl.constexpr):
{BODY}
{DATA}
"""


def test_an_autotuned_launch_has_every_configuration_and_its_own_heuristics(
    recorder: RecordingProcess,
) -> None:
    launch = "kernel[lambda meta: (triton.cdiv(8, meta['B']), meta['EVEN'] + 1)](x, out, 16)\n"
    tape = tape_of(recorder, AUTOTUNED + launch * 2)
    first, second = launches(tape)
    assert [dict(one.constexprs) for one in first.variants] == [
        {"B": 16, "EVEN": True},
        {"B": 32, "EVEN": False},
    ]
    assert [one.grid for one in first.variants] == [(1, 2, 1), (1, 1, 1)]
    assert first.variants[1].options == {"num_warps": 8, "num_stages": 2, "num_ctas": 1}
    assert (first.constexprs, first.grid) == (first.variants[0].constexprs, (1, 2, 1))
    assert first.reset_to_zero == ("out",)
    assert second.reset_to_zero == ()  # Triton tunes a key once
    assert len(second.variants) == 2


def test_what_a_launch_and_its_autotuner_both_say_is_refused_in_triton_s_words(
    recorder: RecordingProcess,
) -> None:
    found = refusal(recorder, AUTOTUNED + "kernel[(1,)](x, out, 8, B=16)\n")
    assert found["reason"] == "program_error"
    assert "Conflicting meta-parameters: B." in found["detail"]
    assert "recorder" not in found["detail"]


def test_a_configuration_that_is_pruned_is_not_on_the_tape(recorder: RecordingProcess) -> None:
    pruned = AUTOTUNED.replace(
        "key=", "prune_configs_by={'early_config_prune': lambda all, args, **_: all[1:]},\n    key="
    )
    (launch,) = launches(tape_of(recorder, pruned + "kernel[(1,)](x, out, 8)\n"))
    assert launch.constexprs["B"] == 32


def test_a_pre_hook_of_the_first_configuration_is_recorded_before_the_launch(
    recorder: RecordingProcess,
) -> None:
    hooked = AUTOTUNED.replace(
        '{"B": 16})', '{"B": 16}, pre_hook=lambda args: args["out"].fill_(3))'
    )
    tape = tape_of(recorder, hooked + "kernel[(1,)](x, out, 8)\n")
    assert [op.op for op in tape.ops[-2:] if hasattr(op, "op")] == ["aten.fill_.Scalar"]
    assert isinstance(tape.ops[-1], TapeLaunch)


def test_arguments_of_every_kind(recorder: RecordingProcess) -> None:
    source = f"""
from triton.tools.tensor_descriptor import TensorDescriptor

@triton.jit
def twice(v):
    return v * 2

@triton.jit
def kernel(x, out, n, pair, none, flag, scale, F: tl.constexpr, T: tl.constexpr, B: tl.constexpr):
{BODY}
{DATA}
wide = torch.zeros(16, 16, device="cuda")
d = TensorDescriptor.from_tensor(wide, [8, 8])
kernel[(1,)](d, out, 8, (x, 1), None, True, float("inf"), F=twice, T=tl.float16, B=tl.constexpr(8))
"""
    tape = tape_of(recorder, source)
    (launch,) = launches(tape)
    assert isinstance(launch.args["x"], TapeDescriptor)
    assert launch.args["none"] is None
    assert launch.args["flag"] is True
    assert launch.args["scale"] == float("inf")
    assert launch.constexprs["F"] == KernelArgument("k0") or launch.constexprs["F"] == (
        KernelArgument("k1")
    )
    assert launch.constexprs["T"] == DtypeName("fp16")
    assert launch.constexprs["B"] == 8
    assert {kernel.name for kernel in tape.kernels.values()} == {"kernel", "twice"}


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("kernel[(1,)](x, out, 8)", "program_error"),
        ("kernel[(1,)](x, out, 8, B=8, num_wraps=4)", "program_error"),
        ("kernel[(1,)](x, out, x.sum().item(), B=8)", "value_dependent"),
        ("kernel[(int(x.sum()),)](x, out, 8, B=8)", "value_dependent"),
        ("kernel.warmup(x, out, 8, B=8, grid=(1,)).n_regs", "unsupported_launch"),
        ("kernel.warmup(x, out, 8, B=8, grid=(1,))[(1, 1, 1)](x, out, 8)", "program_error"),
        ("kernel.warmup(x, out, 1, B=8, grid=(1,))[(1, 1, 1)](x, out, 8, 8)", "unsupported_launch"),
        ("kernel[(1,)](x, out, 8, B=8).n_regs", "unsupported_launch"),
        ("kernel[(1,)](object(), out, 8, B=8)", "program_error"),
        ("kernel[(1,)](x, out, 2**70, B=8)", "program_error"),
        ("kernel[1](x, out, 8, B=8)", "program_error"),  # like Triton: an integer has no length
        ("kernel[(8 / 8,)](x, out, 8, B=8)", "program_error"),
        ("kernel[()](x, out, 8, B=8)", "program_error"),
        ("kernel[(-1, -1)](x, out, 8, B=8)", "unsupported_launch"),
        ("kernel[(1, 65536)](x, out, 8, B=8)", "unsupported_launch"),
        ("triton.testing.do_bench(lambda: None) < 1 or 2", "clock"),
        ("int(torch.cuda.Event().elapsed_time(torch.cuda.Event()))", "clock"),
        ("kernel[(1,)](x, out, torch.cuda.Event().elapsed_time(None), B=8)", "clock"),
        ("torch.cuda.CUDAGraph()", "cuda_graph"),
        ("from torch.utils.cpp_extension import load_inline; load_inline('a')", "inline_cuda"),
    ],
)
def test_what_a_tape_cannot_hold_is_refused_at_its_line(
    recorder: RecordingProcess, call: str, reason: str
) -> None:
    source = f"\n@triton.jit\ndef kernel(x, out, n, B: tl.constexpr):\n{BODY}{DATA}{call}\n"
    found = refusal(recorder, source)
    assert (found["reason"], found["file"], found["line"]) == (reason, "user.py", 11)


def test_a_program_that_prints_how_long_it_takes_is_recorded(recorder: RecordingProcess) -> None:
    timed = """
import time
begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
began = time.perf_counter()
time.sleep(3600)
begin.record()
y = torch.relu(x)
end.record()
torch.cuda.synchronize()
print(f"{begin.elapsed_time(end) / 10:.3f} ms, {time.perf_counter() - began:.1f} s")
ms, low, high = triton.testing.do_bench(lambda: torch.neg(x), quantiles=[0.5, 0.2, 0.8])
print(2 * x.numel() / ms, "GB/s", triton.testing.do_bench_cudagraph(lambda: torch.neg(x)))
"""
    ops = [op.op for op in tape_of(recorder, DATA + timed).ops if isinstance(op, AtenOp)]
    assert ops[-3:] == ["aten.relu.default", "aten.neg.default", "aten.neg.default"]
