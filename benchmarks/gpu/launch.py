"""Measures how fast a waiting launcher answers a launch, compared with a fresh process with torch.

From a job in the worker to its outcome: no HTTP and no store. Needs a GPU and the cubins of
tests/gpu/make_cubins.py.
"""

import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.gpu.bound import ELEMENTS, vector_add, vector_add_expected  # noqa: E402
from worker.gpu.launcher.launcher_order import LauncherOrder, TimingOrder  # noqa: E402
from worker.gpu.supervisor.launcher_protocol import LaunchEnding, LaunchOutcome  # noqa: E402
from worker.gpu.supervisor.launchers import Isolation, LauncherCommand, Launchers, LauncherSettings  # noqa: E402

ITERATIONS, SINGLE_USES, FRESH = 200, 12, 3
DEADLINE_S = 30.0


def main() -> None:
    if "--fresh" in sys.argv:
        fresh_process()
        return
    asyncio.run(launchers_figures())
    if find_spec("torch") is None:
        print("no fresh process to compare with: torch is not installed")
        return
    times_ms = [fresh_ms() for _ in range(FRESH)]
    print(f"fresh process with torch, the same kernel: {shown(times_ms)}", flush=True)


async def launchers_figures() -> None:
    path = os.environ.get("PYTHONPATH")
    command = LauncherCommand(environment={"PYTHONPATH": path} if path else {})
    launchers = Launchers([0], command, LauncherSettings(spares=2, most_processes=8))
    started = time.monotonic()
    await launchers.start()
    print(f"start of 2 launchers: {(time.monotonic() - started) * 1000:.0f} ms", flush=True)
    try:
        await figures_of(launchers)
    finally:
        await launchers.close()


async def figures_of(launchers: Launchers) -> None:
    plain = vector_add()
    asked = vector_add(timing=TimingOrder(warmup_repeats=10, min_repeats=50, max_ms=100))
    expected = vector_add_expected().tobytes()

    async def run(job: LauncherOrder = plain, isolation: Isolation = "caller") -> LaunchOutcome:
        outcome = await launchers.run(
            0, job, caller="benchmark", isolation=isolation, deadline_s=DEADLINE_S
        )
        if (
            outcome.ending is not LaunchEnding.OK
            or bytes(outcome.outputs["output_ptr"]) != expected
        ):
            raise RuntimeError(f"a launch failed: {outcome.detail}")
        return outcome

    await run()
    times_ms = await timed(run, ITERATIONS)
    print(f"launch of {ELEMENTS} elements, job to outcome: {shown(times_ms)}", flush=True)
    print(f"  inside the launcher: {(await run()).result['timings_ms']}", flush=True)
    times_ms = await timed(lambda: run(asked), ITERATIONS // 4)
    print(f"the same with >= 50 timed repeats: {shown(times_ms)}", flush=True)
    timing = (await run(asked)).result["timing"]
    print(f"  timing: {timing}", flush=True)
    started = time.monotonic()
    await asyncio.gather(*(run() for _ in range(ITERATIONS)))
    print(f"one caller: {ITERATIONS / (time.monotonic() - started):.0f} launches/s", flush=True)
    started = time.monotonic()
    times_ms = await timed(lambda: run(isolation="process"), SINGLE_USES)
    rate = SINGLE_USES / (time.monotonic() - started)
    print(f"single-use launchers: {shown(times_ms)}, {rate:.1f} launches/s", flush=True)


async def timed(work: Callable[[], Awaitable[object]], count: int) -> list[float]:
    times_ms = []
    for _ in range(count):
        started = time.perf_counter()
        await work()
        times_ms.append((time.perf_counter() - started) * 1000)
    return times_ms


def shown(times_ms: list[float]) -> str:
    ordered = sorted(times_ms)
    last = ordered[int(0.99 * (len(ordered) - 1))]
    return f"p50 {statistics.median(ordered):.1f} ms, p99 {last:.1f} ms, n {len(ordered)}"


def fresh_ms() -> float:
    """Return the time of a process that imports torch, compiles, launches, checks and times."""
    started = time.perf_counter()
    subprocess.run([sys.executable, __file__, "--fresh"], check=True, timeout=60)
    return (time.perf_counter() - started) * 1000


def fresh_process() -> None:
    import torch
    import triton
    import triton.language as tl
    from triton.testing import do_bench

    @triton.jit
    def add_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):  # noqa: ANN001, ANN202, N803
        offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
        mask = offsets < n_elements
        x = tl.load(x_ptr + offsets, mask=mask)
        y = tl.load(y_ptr + offsets, mask=mask)
        tl.store(output_ptr + offsets, x + y, mask=mask)

    x, y = (torch.rand(ELEMENTS, device="cuda") for _ in range(2))
    output = torch.empty_like(x)

    def launch() -> None:
        add_kernel[(triton.cdiv(ELEMENTS, 1024),)](x, y, output, ELEMENTS, BLOCK_SIZE=1024)

    launch()
    if not torch.equal(output, x + y):
        raise RuntimeError("the vector add is wrong")
    do_bench(launch)


if __name__ == "__main__":
    main()
