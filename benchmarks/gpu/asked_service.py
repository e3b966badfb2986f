"""Starts, queries and stops a tritond for benchmarks on a GPU, and checks every verdict."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

from benchmarks.gpu.processes import cpu_ms

ROOT = Path(__file__).parents[2]
PORT = int(os.environ.get("TRITOND_PORT", "8191"))
URL = f"http://127.0.0.1:{PORT}"
READY_S, STOP_S = 120, 30

Body = dict[str, Any]


class WrongVerdict(Exception):
    """A launch had an unexpected verdict, which invalidates the measurements of the run."""


class Service:
    """A running tritond whose processes this module started."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def launch(self, body: Body) -> Body:
        """Return the finished launch of `body`."""
        answer = await self._client.post("/v1/launches?wait=60", json=body)
        launch: Body = answer.json()
        return launch

    async def ask(self, body: Body, verdict: str = "passed") -> Body:
        """Return the finished launch of `body`. Raises WrongVerdict."""
        launch = await self.launch(body)
        verdicts = {launch.get("verdict")} | {case["verdict"] for case in launch.get("cases") or []}
        if verdicts - {None} != {verdict}:
            reported = {
                name: launch.get(name) for name in ("problem", "detail", "findings", "outputs")
            }
            raise WrongVerdict(f"{verdicts} instead of {verdict}: {str(reported)[:3000]}")
        return launch

    async def timed_ms(self, body: Body, verdict: str = "passed") -> float:
        """Return the milliseconds of `ask`."""
        started = time.perf_counter()
        await self.ask(body, verdict)
        return (time.perf_counter() - started) * 1000

    async def device(self) -> Body:
        """Return the first available GPU, {} if there is none."""
        devices = (await self._client.get("/v1/devices")).json()["devices"]
        return devices[0] if devices else {}

    async def per_s(self, bodies: Sequence[Body], callers: int) -> tuple[float, str]:
        """Return launches per second of `callers` at once, and each process's CPU time."""
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


async def until_ready(service: Service, tritond: Sequence["subprocess.Popen[bytes]"]) -> None:
    """Wait until a GPU worker has registered."""
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline and all(part.poll() is None for part in tritond):
        with contextlib.suppress(httpx.TransportError):
            if await service.device():
                return
        await asyncio.sleep(0.3)
    raise RuntimeError("no GPU worker started; see the log above")


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
