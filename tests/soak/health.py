"""`python -m tests.soak.health URL`: times answers of `/healthz` until SIGTERM.

It is a separate process, so the load's own work does not count. At its end it prints the times in
milliseconds as one line of JSON. While no service listens there is no time.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time

import httpx

EVERY_S = 0.05


class Health:
    """The times of all answers."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._times_ms: list[float] = []
        self._unanswered = 0

    async def run(self) -> None:
        async with httpx.AsyncClient(base_url=self._url, timeout=60) as http:
            while True:
                began = time.perf_counter()
                try:
                    await http.get("/healthz")
                    self._times_ms.append((time.perf_counter() - began) * 1000)
                except httpx.TransportError:
                    self._unanswered += 1
                await asyncio.sleep(EVERY_S)

    def summary(self) -> dict[str, float]:
        ordered = sorted(self._times_ms) or [float("inf")]
        return {
            "answered": len(self._times_ms),
            "unanswered": self._unanswered,
            "p50_ms": round(ordered[len(ordered) // 2], 1),
            "p99_ms": round(ordered[int(len(ordered) * 0.99)], 1),
            "max_ms": round(ordered[-1], 1),
        }


async def main(url: str) -> None:
    health = Health(url)
    running = asyncio.create_task(health.run())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
    await asyncio.wait([running])
    print(json.dumps(health.summary()), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
