"""Launches over HTTP on a GPU, from request to verdict, against the bars.

`python benchmarks/gpu/launch_service.py` starts a `tritond up` of its own and needs a GPU; with
`--stand-in` a stand-in takes the launcher's place (stand_in_gpu.py), to try the script: its numbers
say nothing of a GPU. Beside it, in the same run, the launcher alone and a fresh process with torch
(launch.py), unless `--no-launcher`. Every verdict is checked.
"""

import argparse
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
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.gpu.launch_bodies import (  # noqa: E402
    ELEMENTS,
    FAR_AWAY,
    add,
    endless,
    many_cases,
    matmuls,
)
from benchmarks.gpu.processes import cpu_ms  # noqa: E402
from store.embedded import EmbeddedValkey  # noqa: E402

PORT = int(os.environ.get("TRITOND_PORT", "8191"))
URL = f"http://127.0.0.1:{PORT}"
LARGE = 1 << 24
READY_S, STOP_S = 120, 30

Body = dict[str, Any]


class WrongVerdict(Exception):
    """A launch did not end as it must; nothing that is measured beside it counts."""


@dataclass(frozen=True)
class Line:
    """One line of the table; `bar` bounds `value` from above, with `at_least` from below."""

    name: str
    value: float
    unit: str
    bar: float | None = None
    at_least: bool = False
    note: str = ""

    @property
    def met(self) -> str:
        """Whether the bar is kept."""
        if self.bar is None:
            return ""
        is_met = self.value >= self.bar if self.at_least else self.value <= self.bar
        return "met" if is_met else "NOT MET"

    def cells(self) -> list[str]:
        """Return what is printed."""
        sign = "≥" if self.at_least else "≤"
        bar = "" if self.bar is None else f"{sign} {self.bar:g} {self.unit}"
        digits = 2 if self.unit == "s" else 1
        return [self.name, f"{self.value:.{digits}f} {self.unit}", bar, self.met, self.note]


class Service:
    """A tritond that is asked; its processes are ours."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def launch(self, body: Body) -> Body:
        """Return the launch of `body`, once it is over."""
        answer = await self._client.post("/v1/launches?wait=60", json=body)
        launch: Body = answer.json()
        return launch

    async def ask(self, body: Body, verdict: str = "passed") -> Body:
        """Return the finished launch of `body`. Raises WrongVerdict."""
        launch = await self.launch(body)
        found = {launch.get("verdict")} | {one["verdict"] for one in launch.get("cases") or []}
        if found - {None} != {verdict}:
            told = {name: launch.get(name) for name in ("problem", "detail", "findings", "outputs")}
            raise WrongVerdict(f"{found} instead of {verdict}: {str(told)[:3000]}")
        return launch

    async def timed_ms(self, body: Body, verdict: str = "passed") -> float:
        """Return how long `ask` takes."""
        started = time.perf_counter()
        await self.ask(body, verdict)
        return (time.perf_counter() - started) * 1000

    async def device(self) -> Body:
        """Return the first GPU that is offered, {} without one."""
        devices = (await self._client.get("/v1/devices")).json()["devices"]
        return devices[0] if devices else {}

    async def per_s(self, bodies: Sequence[Body], callers: int) -> tuple[float, str]:
        """Return launches per second, so many requests at once, and each process's CPU time."""
        waiting = iter(bodies)

        async def call() -> None:
            for body in waiting:
                await self.ask(body)

        before, started = cpu_ms(os.getpid()), time.perf_counter()
        await asyncio.gather(*(call() for _ in range(callers)))
        rate = len(bodies) / (time.perf_counter() - started)
        used = cpu_ms(os.getpid()) - before
        shown = ", ".join(f"{kind} {ms / len(bodies):.1f}" for kind, ms in used.most_common())
        return rate, f"CPU ms per launch: {shown}"


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
        name: round(statistics.median(one["timings_ms"][name] for one in launches), 1)
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
    return [Line("a process of its own, p50 of 6", statistics.median(alone), "ms")]


async def mixed(service: Service) -> str:
    """Launch good kernels with hostile ones between; every verdict must be right."""
    asked = Counter({"passed": 198, "timeout": 1, "illegal_access": 1})
    hostile = [
        service.ask(endless(), "timeout"),
        service.ask(add(FAR_AWAY), "illegal_access"),
    ]
    await asyncio.gather(*(service.ask(add()) for _ in range(asked["passed"])), *hostile)
    await service.ask(add())
    return f"mixed run, every verdict as it must be: {dict(asked)}; a good one afterwards: passed"


def show(lines: Sequence[Line]) -> None:
    """Print the lines as a Markdown table."""
    table = [["what", "measured", "bar", "met", ""], *(line.cells() for line in lines)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    table.insert(1, ["-" * width for width in widths])
    for cells in table:
        print(f"| {' | '.join(map(str.ljust, cells, widths))} |", flush=True)


async def run(asked: argparse.Namespace, tritond: Sequence["subprocess.Popen[bytes]"]) -> None:
    """Wait for the GPU, measure, and print."""
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
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


async def until_ready(service: Service, tritond: Sequence["subprocess.Popen[bytes]"]) -> None:
    """Return when a GPU worker has registered."""
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline and all(part.poll() is None for part in tritond):
        with contextlib.suppress(httpx.TransportError):
            if await service.device():
                return
        await asyncio.sleep(0.3)
    raise RuntimeError("no GPU worker came up; see the log above")


@contextlib.contextmanager
def started(*commands: Sequence[str], **settings: str) -> Any:
    """Run these modules while the block runs."""
    running = [
        subprocess.Popen([sys.executable, "-m", *command], cwd=ROOT, env=os.environ | settings)
        for command in commands
    ]
    try:
        yield running
    finally:
        for part in reversed(running):
            part.send_signal(signal.SIGTERM)
            part.wait(STOP_S)


async def with_stand_in(asked: argparse.Namespace, data: Path) -> None:
    """Measure a service and a worker whose launcher is a stand-in."""
    print("STAND-IN LAUNCHER: no kernel runs, nothing here is a measurement of a GPU\n", flush=True)
    async with EmbeddedValkey(data) as valkey:
        settings = {"TRITOND_REDIS_URL": valkey.url, "TRITOND_PORT": str(PORT)}
        with started(["service"], ["benchmarks.gpu.stand_in_gpu"], **settings) as parts:
            await run(asked, parts)


def main() -> int:
    """Start tritond, measure, stop it; then the launcher alone and the fresh process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stand-in", action="store_true", help="without a GPU, to try the script")
    parser.add_argument("--no-launcher", action="store_true", help="without launch.py behind it")
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
