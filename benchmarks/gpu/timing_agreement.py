"""Compares a launcher's medians with do_bench's, CUPTI's, and those of its own repeated runs.

The same cubins on the same sizes: tritond uses inputs of a launch, the others torch tensors. CUPTI
is torch.profiler's source of kernel times. Needs a GPU, torch and triton.
"""

import asyncio
import os
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402
from triton.testing import do_bench  # noqa: E402

from benchmarks.table import Row, show  # noqa: E402
from compiler.abi import abi_of  # noqa: E402
from compiler.compilation import Parameter  # noqa: E402
from compiler.target import Target  # noqa: E402
from tests.gpu.bound import Bound  # noqa: E402
from worker.gpu.launcher.launcher_order import LauncherOrder, TimingOrder  # noqa: E402
from worker.gpu.supervisor.launcher_protocol import LaunchEnding  # noqa: E402
from worker.gpu.supervisor.launchers import (  # noqa: E402
    Isolation,
    LauncherCommand,
    Launchers,
    LauncherSettings,
)

PAIRS, CUPTI_RUNS = 20, 40
BAR, AGREEING = 1.05, 0.95
DTYPES = {torch.float32: "fp32", torch.float16: "fp16"}
ORDER = TimingOrder(min_repeats=50, max_ms=40)


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):  # noqa: ANN001, ANN201, N803
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


@triton.jit
def gelu(x, out, n, BLOCK: tl.constexpr):  # noqa: ANN001, ANN201, N803
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    value = tl.load(x + at, mask=mask).to(tl.float32)
    made = 0.5 * value * (1 + tl.erf(value * 0.70710678))
    tl.store(out + at, made.to(out.dtype.element_ty), mask=mask)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):  # noqa: ANN001, ANN201, N803
    row = tl.program_id(0).to(tl.int64) * columns
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + row + lanes, mask=lanes < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row + lanes, powers / tl.sum(powers, axis=0), mask=lanes < columns)


@triton.jit
def row_sum(x, out, columns, BLOCK: tl.constexpr):  # noqa: ANN001, ANN201, N803
    row = tl.program_id(0).to(tl.int64) * columns
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + row + lanes, mask=lanes < columns, other=0.0).to(tl.float32)
    tl.store(out + tl.program_id(0), tl.sum(values, axis=0))


@triton.jit
def matmul(a, b, out, N, K, TILE: tl.constexpr, STEP: tl.constexpr):  # noqa: ANN001, ANN201, N803
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
    columns = tl.program_id(1) * TILE + tl.arange(0, TILE)
    inner = tl.arange(0, STEP)
    sums = tl.zeros((TILE, TILE), tl.float32)
    for start in range(0, K, STEP):
        left = tl.load(a + rows[:, None] * K + start + inner[None, :])
        right = tl.load(b + (start + inner)[:, None] * N + columns[None, :])
        sums += tl.dot(left, right)
    tl.store(out + rows[:, None] * N + columns[None, :], sums.to(out.dtype.element_ty))


@dataclass(frozen=True)
class Case:
    """One kernel at one size; tensors are (name, shape, type), the last one is the output."""

    name: str
    kernel: Any
    grid: tuple[int, ...]
    tensors: list[tuple[str, list[int], torch.dtype]]
    scalars: dict[str, int]
    constants: dict[str, int]


def _flat(kernel: Any, name: str, count: int, kind: torch.dtype, inputs: str) -> Case:
    tensors = [(tensor, [count], kind) for tensor in (*inputs.split(), "out")]
    return Case(name, kernel, (triton.cdiv(count, 1024),), tensors, {"n": count}, {"BLOCK": 1024})


def _rows(kernel: Any, name: str, rows: int, columns: int, out: list[int]) -> Case:
    tensors = [("x", [rows, columns], torch.float32), ("out", out, torch.float32)]
    constants = {"BLOCK": triton.next_power_of_2(columns)}
    return Case(name, kernel, (rows,), tensors, {"columns": columns}, constants)


def _matmul(m: int, n: int, k: int) -> Case:
    half = torch.float16
    tensors = [("a", [m, k], half), ("b", [k, n], half), ("out", [m, n], half)]
    sizes = {"N": n, "K": k}
    constants = {"TILE": 128, "STEP": 64}
    return Case(f"matmul {m}x{n}x{k}", matmul, (m // 128, n // 128), tensors, sizes, constants)


CASES = [
    _flat(add, "add 8 M fp32", 8 << 20, torch.float32, "x y"),
    _flat(add, "add 16 M fp32", 16 << 20, torch.float32, "x y"),
    _flat(gelu, "gelu 32 M fp16", 32 << 20, torch.float16, "x"),
    _rows(softmax, "softmax 4096x4096", 4096, 4096, [4096, 4096]),
    _rows(softmax, "softmax 16384x1000", 16384, 1000, [16384, 1000]),
    _rows(row_sum, "row sum 8192x8192", 8192, 8192, [8192]),
    _matmul(2048, 2048, 2048),
    _matmul(4096, 4096, 1024),
]
"""The eight cases of the bar."""
SHORT = [
    _flat(add, "add 98,432 fp32", 98_432, torch.float32, "x y"),
    _flat(add, "add 1 M fp32", 1 << 20, torch.float32, "x y"),
    _flat(add, "add 2 M fp32", 2 << 20, torch.float32, "x y"),
    _flat(add, "add 4 M fp32", 4 << 20, torch.float32, "x y"),
    _matmul(1024, 1024, 1024),
]
"""Cases in which event overhead is a larger share: shown without a bar."""


def main() -> None:
    prepared = [Prepared(case) for case in [*CASES, *SHORT]]
    asyncio.run(compare(prepared))


class Prepared:
    """A compiled case, as a job of a launcher and as a callable."""

    def __init__(self, case: Case) -> None:
        self.case = case
        tensors = [torch.rand(shape, dtype=kind, device="cuda") for _, shape, kind in case.tensors]
        arguments = [*tensors, *case.scalars.values()]
        compiled = case.kernel[case.grid](*arguments, **case.constants)
        self.call: Callable[[], Any] = lambda: case.kernel[case.grid](*arguments, **case.constants)
        self.job = self._job(compiled)

    def _job(self, compiled: Any) -> LauncherOrder:
        case, bound = self.case, Bound()
        for name, shape, kind in case.tensors:
            output = name == "out"
            init = None if output else {"kind": "uniform", "seed": len(name)}
            bound.buffer(name, DTYPES[kind], shape, init, output=output)
        for name, value in case.scalars.items():
            bound.scalar(name, value, "i32")
        types = {name: f"*{DTYPES[kind]}" for name, _, kind in case.tensors}
        types |= dict.fromkeys(case.scalars, "i32")
        parameters = [
            Parameter(name=name, type=kind, role="runtime", hints=[], value=None)
            for name, kind in types.items()
        ]
        major, minor = torch.cuda.get_device_capability()
        target = Target("cuda", 10 * major + minor, 32)
        abi = abi_of(target, parameters, compiled.metadata._asdict())
        x, y, z = (*case.grid, 1, 1)[:3]
        allocations, arguments = bound.allocations, bound.arguments
        return LauncherOrder(
            compiled.asm["cubin"], abi, (x, y, z), allocations, arguments, timing=ORDER
        )

    def do_bench_us(self) -> float:
        """Return do_bench's median."""
        return do_bench(self.call, return_mode="median") * 1000

    def cupti_us(self) -> float:
        """Return the median of kernel times, each after a flush of the L2 cache."""
        flush = torch.empty(256 << 20, dtype=torch.int8, device="cuda")
        activities = [torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=activities) as profiler:
            for _ in range(CUPTI_RUNS):
                flush.zero_()
                self.call()
            torch.cuda.synchronize()
        name = self.job.abi.entry
        times = [event.device_time for event in profiler.events() if event.name == name]
        return statistics.median(times)


async def compare(prepared: list[Prepared]) -> None:
    path = os.environ.get("PYTHONPATH")
    command = LauncherCommand(environment={"PYTHONPATH": path} if path else {})
    launchers = Launchers([0], command, LauncherSettings(spares=1))
    await launchers.start()

    async def ours(prepared_case: Prepared, isolation: Isolation = "caller") -> dict[str, Any]:
        outcome = await launchers.run(
            0, prepared_case.job, caller="benchmark", isolation=isolation, deadline_s=30.0
        )
        if outcome.ending is not LaunchEnding.OK or outcome.result is None:
            raise RuntimeError(f"{prepared_case.case.name}: {outcome.detail}")
        timing: dict[str, Any] = outcome.result["timing"]
        return timing

    try:
        ceilings = launchers.devices[0].ceilings
        overhead_us = ceilings.launch_us if ceilings is not None else 0.0
        show_medians(
            prepared, [await ours(prepared_case) for prepared_case in prepared], overhead_us
        )
        runs: list[list[dict[str, Any]]] = [[] for _ in prepared]
        for _ in range(2 * PAIRS):
            for prepared_case, timings in zip(prepared, runs, strict=True):
                timings.append(await ours(prepared_case))
        show_pairs(prepared, runs)
    finally:
        await launchers.close()


def show_medians(
    prepared: list[Prepared], timings: list[dict[str, Any]], overhead_us: float
) -> None:
    """Compare like with like: do_bench uses events, CUPTI reports kernel times."""
    print(f"overhead_us: {overhead_us:.2f}", flush=True)
    rows = []
    for prepared_case, timing in zip(prepared, timings, strict=True):
        median = timing["median_us"]
        own = median - overhead_us
        bar = BAR if prepared_case.case in CASES else float("inf")
        for name, reported, other in (
            ("median_us and do_bench", median, prepared_case.do_bench_us()),
            ("median_us - overhead_us and CUPTI", own, cupti := prepared_case.cupti_us()),
            ("median_us and CUPTI", median, cupti),
        ):
            ratio = max(reported / other, other / reported)
            label = f"{prepared_case.case.name}: {name} ({reported - other:+.2f} us)"
            rows.append(Row(label, f"{reported:.2f} us", f"{other:.2f} us", ratio, bar))
    show(rows)


def show_pairs(prepared: list[Prepared], runs: list[list[dict[str, Any]]]) -> None:
    rows = []
    for prepared_case, timings in zip(prepared, runs, strict=True):
        pairs = list(zip(timings[::2], timings[1::2], strict=True))
        share = sum(map(agrees, pairs)) / len(pairs)
        medians = [timing["median_us"] for timing in timings]
        middle = statistics.median(medians)
        low, high = timings[0]["interval_us"]
        spread = statistics.stdev(medians) / middle
        label = f"{prepared_case.case.name}: {PAIRS} pairs agree ({timings[0]['repeats']} repeats)"
        reported = f"{low:.2f} to {high:.2f} us"
        rows.append(
            Row(label, reported, f"medians {spread:.2%} std", share, AGREEING, at_least=True)
        )
    show(rows)


def agrees(pair: tuple[dict[str, Any], dict[str, Any]]) -> bool:
    """Return True if each run's median is within the other's interval."""
    a, b = pair
    return all(
        first["interval_us"][0] <= second["median_us"] <= first["interval_us"][1]
        for first, second in ((a, b), (b, a))
    )


if __name__ == "__main__":
    main()
