"""Measures launches over HTTP on a GPU, from request to verdict, against the bars.

`python benchmarks/gpu/launch_service.py` starts its own `tritond up` and needs a GPU. With
`--stand-in` a stand-in replaces the launcher (stand_in_gpu.py), to try the script; its numbers say
nothing about a GPU. In the same run it measures the launcher alone and a fresh process with torch
(launch.py), unless `--no-launcher`. Every verdict is checked.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import httpx

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.gpu.asked_service import PORT, URL, Service, started, until_ready  # noqa: E402
from benchmarks.gpu.bars import Line, show  # noqa: E402
from benchmarks.gpu.launch_bodies import (  # noqa: E402
    ELEMENTS,
    FAR_AWAY,
    add,
    endless,
    many_cases,
    matmuls,
)
from store.embedded import EmbeddedValkey  # noqa: E402

LARGE = 1 << 24


async def measure(service: Service) -> list[Line]:
    """Return the lines of the table."""
    await service.ask(add())
    parts: list[Callable[[Service], Awaitable[list[Line]]]] = [
        _latency, _rates, _cases, _large, _matmuls, _isolated
    ]  # fmt: skip
    lines: list[Line] = []
    for part in parts:
        lines += await part(service)
    return lines


async def _latency(service: Service) -> list[Line]:
    launches, times = [], []
    for _ in range(100):
        started = time.perf_counter()
        launches.append(await service.ask(add()))
        times.append((time.perf_counter() - started) * 1000)
    p50 = statistics.median(times)
    p95 = statistics.quantiles(times, n=20)[-1]
    timings = {
        name: round(statistics.median(launch["timings_ms"][name] for launch in launches), 1)
        for name in launches[0]["timings_ms"]
    }
    note = f"p95 {p95:.1f} ms; timings_ms {timings}"
    return [Line(f"cached kernel, {ELEMENTS} elements, p50 of 100", p50, "ms", 25, note=note)]


async def _rates(service: Service) -> list[Line]:
    lines = []
    for callers, count in ((8, 480), (64, 640)):
        rate, note = await service.per_s([add()] * count, callers)
        name = f"{callers} requests at once, {count} launches"
        lines.append(Line(name, rate, "/s", 120, at_least=True, note=note))
    return lines


async def _cases(service: Service) -> list[Line]:
    plain, timed = many_cases(timed=False), many_cases(timed=True)
    first = await service.timed_ms(plain) / 1000
    second = await service.timed_ms(plain) / 1000
    with_timing = await service.timed_ms(timed) / 1000
    return [
        Line("100 cases, inputs and references new", first, "s", 0.6),
        Line("100 cases again", second, "s", 0.6),
        Line("100 cases again, each timed", with_timing, "s"),
    ]


async def _large(service: Service) -> list[Line]:
    body = add(n_elements=LARGE)
    first, second, third = [await service.timed_ms(body) for _ in range(3)]
    return [
        Line("vector add of 16 M elements, first time", first, "ms"),
        Line("the same, second time", second, "ms", 150, note=f"third {third:.1f} ms"),
    ]


async def _matmuls(service: Service) -> list[Line]:
    salt = f"\n# {os.urandom(8).hex()}\n"
    bodies = matmuls(salt=salt)
    started = time.perf_counter()
    await asyncio.gather(*(service.ask(body) for body in bodies))
    took_s = time.perf_counter() - started
    started = time.perf_counter()
    await asyncio.gather(*(service.ask(body) for body in bodies))
    again_s = time.perf_counter() - started
    cores = len(os.sched_getaffinity(0))
    note = f"{cores} cores; again {again_s:.2f} s"
    name = f"{len(bodies)} matmul configurations from nothing"
    return [Line(name, took_s, "s", 5, note=note)]


async def _isolated(service: Service) -> list[Line]:
    alone = [await service.timed_ms(add() | {"isolation": "process"}) for _ in range(6)]
    return [Line("a separate process, p50 of 6", statistics.median(alone), "ms")]


async def mixed(service: Service) -> str:
    """Launch good kernels mixed with hostile ones; every verdict must be correct."""
    asked = Counter({"passed": 198, "timeout": 1, "illegal_access": 1})
    hostile = [
        service.ask(endless(), "timeout"),
        service.ask(add(FAR_AWAY), "illegal_access"),
    ]
    await asyncio.gather(*(service.ask(add()) for _ in range(asked["passed"])), *hostile)
    await service.ask(add())
    return f"mixed run, every verdict correct: {dict(asked)}; a good one afterwards: passed"


async def run(asked: argparse.Namespace, tritond: Sequence["subprocess.Popen[bytes]"]) -> None:
    """Wait for the GPU, measure, and print the results."""
    async with httpx.AsyncClient(base_url=URL, timeout=180) as client:
        service = Service(client)
        await until_ready(service, tritond)
        device = await service.device()
        print(f"device: {device}\ncommit: {_commit()}\n", flush=True)
        show(await measure(service))
        if not asked.stand_in:
            print(f"\n{await mixed(service)}", flush=True)


def _commit() -> str:
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    described = subprocess.run(command, capture_output=True, text=True, check=False)
    return described.stdout.strip() or "unknown"


async def with_stand_in(asked: argparse.Namespace, data: Path) -> None:
    """Measure a service and a worker with a stand-in launcher."""
    print("STAND-IN LAUNCHER: no kernel runs, nothing here is a measurement of a GPU\n", flush=True)
    async with EmbeddedValkey(data) as valkey:
        settings = {"TRITOND_REDIS_URL": valkey.url, "TRITOND_PORT": str(PORT)}
        with started(["service"], ["benchmarks.gpu.stand_in_gpu"], **settings) as parts:
            await run(asked, parts)


def main() -> int:
    """Start tritond, measure and stop it; then measure the launcher and the fresh process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stand-in", action="store_true", help="try the script without a GPU")
    parser.add_argument("--no-launcher", action="store_true", help="skip launch.py afterwards")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if asked.stand_in:
            asyncio.run(with_stand_in(asked, Path(folder)))
            return 0
        up = ["service.command", "up", "--port", str(PORT), "--data", folder]
        with started(up) as parts:
            asyncio.run(run(asked, parts))
    if not asked.no_launcher:
        print("\nthe launcher alone, and a fresh process with torch:", flush=True)
        subprocess.run(
            [sys.executable, str(ROOT / "benchmarks" / "gpu" / "launch.py")], check=False
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
