"""Launches over HTTP on a GPU: request to verdict, launches per second, and hostile ones between.

`python benchmarks/launch_service.py` starts a `tritond up` of its own and needs a GPU. It prints a
short table; the bars are those of benchmarks/README.md.
"""

import asyncio
import contextlib
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).parents[1]
PORT = int(os.environ.get("TRITOND_PORT", "8191"))
URL = f"http://127.0.0.1:{PORT}"
ELEMENTS = 98_432
ADD = (ROOT / "examples" / "vector_add.py").read_text()
ENDLESS = """import triton
import triton.language as tl


@triton.jit
def endless(x_ptr, n):
    i = 0
    while i < n:
        i = tl.atomic_add(x_ptr, 0)
"""
OUT_OF_BOUNDS = ADD.replace("mask = offsets < n_elements", "mask = offsets < n_elements + 4096")


def add(source: str = ADD, n_elements: int = ELEMENTS, target: str = "cuda:90") -> dict[str, Any]:
    """Return the launch request of a vector add with its reference."""
    buffer = {"shape": [n_elements], "dtype": "fp32"}
    return {
        "compilation": {"source": source, "constexprs": {"BLOCK_SIZE": 1024}, "target": target},
        "grid": ["cdiv(n_elements, BLOCK_SIZE)"],
        "arguments": {
            "x_ptr": buffer | {"init": {"kind": "uniform", "seed": 1}},
            "y_ptr": buffer | {"init": {"kind": "normal", "seed": 2}},
            "output_ptr": buffer | {"output": True},
            "n_elements": n_elements,
        },
        "reference": {"source": "def reference(x_ptr, y_ptr, **_):\n    return x_ptr + y_ptr\n"},
        "timing": {"min_repeats": 50, "max_ms": 20},
    }


def endless() -> dict[str, Any]:
    """Return the launch request of a kernel that never ends."""
    return {
        "compilation": {"source": ENDLESS, "target": "cuda:90"},
        "grid": [1],
        "arguments": {
            "x_ptr": {"shape": [1], "dtype": "i32", "init": {"kind": "zeros"}, "output": True},
            "n": 100,
        },
        "timeout_s": 1,
    }


async def ask(client: httpx.AsyncClient, body: dict[str, Any]) -> tuple[dict[str, Any], float]:
    """Return the finished launch of `body`, and the milliseconds it took."""
    started = time.perf_counter()
    answer = await client.post("/v1/launches?wait=60", json=body)
    return answer.json(), (time.perf_counter() - started) * 1000


async def measure() -> None:
    """Print the table."""
    async with httpx.AsyncClient(base_url=URL, timeout=120) as client:
        first, first_ms = await ask(client, add())
        print("first launch:", first.get("verdict"), f"{first_ms:.0f} ms", first.get("device"))
        print("  problem:", first.get("problem"), "detail:", first.get("detail"))
        print("  outputs:", first.get("outputs"))
        print("  timing:", first.get("timing"), first.get("timings_ms"))
        times = [(await ask(client, add()))[1] for _ in range(100)]
        print(f"request to verdict, cached kernel: p50 {statistics.median(times):.1f} ms (bar 60)")
        single = add() | {"isolation": "process"}
        alone = [(await ask(client, single))[1] for _ in range(8)]
        print(f"the same in single-use processes: p50 {statistics.median(alone):.1f} ms")
        started = time.perf_counter()
        await asyncio.gather(*(ask(client, add()) for _ in range(200)))
        rate = 200 / (time.perf_counter() - started)
        print(f"one caller, 200 launches at once: {rate:.0f} launches/s (bar 30)")
        await mixed(client)


async def mixed(client: httpx.AsyncClient) -> None:
    """Launch good kernels with hostile ones between; every verdict must be right."""
    bodies = [("good", add()) for _ in range(200)]
    bodies[50] = ("endless", endless())
    bodies[100] = ("out of bounds", add(OUT_OF_BOUNDS, n_elements=ELEMENTS - 1000))
    answers = await asyncio.gather(*(ask(client, body) for _, body in bodies))
    verdicts = Counter(
        (name, answer.get("verdict"))
        for (name, _), (answer, _) in zip(bodies, answers, strict=True)
    )
    print("mixed:", dict(verdicts))
    after, _ = await ask(client, add())
    print("a good one afterwards:", after.get("verdict"))


def main() -> int:
    """Start tritond, measure, stop it."""
    with tempfile.TemporaryDirectory() as data:
        command = [sys.executable, "-m", "service.command", "up", "--port", str(PORT)]
        tritond = subprocess.Popen([*command, "--data", data], cwd=ROOT)
        try:
            asyncio.run(until_ready(tritond))
            asyncio.run(measure())
        finally:
            tritond.send_signal(signal.SIGTERM)
            tritond.wait(30)
    return 0


async def until_ready(tritond: subprocess.Popen[bytes]) -> None:
    """Return when a GPU worker has registered."""
    deadline = time.monotonic() + 120
    async with httpx.AsyncClient(base_url=URL) as client:
        while time.monotonic() < deadline and tritond.poll() is None:
            with contextlib.suppress(httpx.TransportError):
                if (await client.get("/v1/devices")).json()["devices"]:
                    return
            await asyncio.sleep(0.3)
    raise RuntimeError("no GPU worker came up; see the log above")


if __name__ == "__main__":
    sys.exit(main())
