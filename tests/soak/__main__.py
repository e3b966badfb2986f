"""`python -m tests.soak [--minutes 9] [--seed N]`: a deployment under load, and all its faults.

At its end nothing may be wrong, lost or stuck, and every living process must work. Faults come one
after the other, each kind once before any repeats. The seed decides the order of faults and
requests; the machine's speed decides how many fit. It always prints its counts.
"""

import argparse
import asyncio
import json
import random
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import httpx

from store import keys
from store.connection import connect
from tests.integration.service.running import ROOT, Deployment, Process
from tests.soak.faults import FAULTS
from tests.soak.load import Load
from tests.waiting import wait_until

WORKERS = 2
SETTLE_S = 120.0
SETTINGS = {
    "TRITOND_LEASE_S": "3",
    "TRITOND_DRAIN_S": "2",
    "TRITOND_HEAD_TIMEOUT_S": "3",
    "TRITOND_BODY_TIMEOUT_S": "5",
}
MAX_HEALTH_P99_MS = 250


class Soak:
    """One run on `deployment`; `found` has the errors, in lines."""

    def __init__(self, deployment: Deployment, seed: int) -> None:
        self.deployment = deployment
        self.found: list[str] = []
        self._seed = seed
        self._chance = random.Random(f"faults {seed}")
        self._happened = Counter[str]()
        self._load = Load(deployment.url, random.Random(f"load {seed}"))
        self._beside: dict[str, Process] = {}
        self._said: dict[str, Any] = {}

    def run(self, minutes: float) -> None:
        """Cause faults under load for `minutes`, then check the leftovers."""
        asking = threading.Thread(target=lambda: asyncio.run(self._load.run()), daemon=True)
        asking.start()
        for name, words in {"strangers": [str(self._seed)], "health": []}.items():
            log = self.deployment.folder / f"{name}.json"
            url = self.deployment.url
            self._beside[name] = Process(log, "-m", f"tests.soak.{name}", url, *words)
        self._faults(time.monotonic() + 60 * minutes)
        self._end_beside()
        self._load.stopping = True
        asking.join(SETTLE_S)
        if asking.is_alive():
            asked = f"{self._load.open} requests {SETTLE_S:g} s after the last fault"
            self.found.append(f"stuck: {asked}")
        self._idle_processes()
        self.found += asyncio.run(_left_over(self.deployment.redis_url))

    def report(self) -> None:
        """Print the counts so far."""
        load = self._load
        print(f"happened: {dict(self._happened)}")
        print(f"answered: {dict(load.answered)}; asked again: {dict(load.retried)}")
        said = self._end_beside()
        for name, words in said.items():
            print(f"{name}: {json.dumps(words)}")
        self.found += [
            f"wrong: strangers: {each}" for each in said.get("strangers", {"wrong": []})["wrong"]
        ]
        p99_ms = said.get("health", {"p99_ms": float("inf")})["p99_ms"]
        if p99_ms > MAX_HEALTH_P99_MS:
            self.found.append(f"slow: p99 of /healthz is {p99_ms} ms, over {MAX_HEALTH_P99_MS} ms")
        if not load.answered.total():
            self.found.append("nothing was answered")
        self.found += [f"wrong: {fault}" for fault in load.wrong]
        self.found += [f"lost: {fault}" for fault in load.lost]
        counts = {"wrong": len(load.wrong), "lost": len(load.lost), "stuck": load.open}
        print(", ".join(f"{count} {name}" for name, count in counts.items()), flush=True)

    def _end_beside(self) -> dict[str, Any]:
        """End the helper processes, once, and record their findings."""
        for name, process in self._beside.items():
            process.stop()
            try:
                self._said[name] = json.loads(process.said)
            except ValueError:
                self.found.append(f"{name} ended with {process.said[-500:]!r}")
        self._beside = {}
        return self._said

    def _faults(self, until: float) -> None:
        order: list[str] = []
        while time.monotonic() < until:
            order = order or self._chance.sample(sorted(FAULTS), len(FAULTS))
            name = order.pop()
            print(f"{until - time.monotonic():4.0f} s left: {name}", flush=True)
            self._happened[name] += 1
            FAULTS[name](self.deployment, self._chance)
            time.sleep(self._chance.uniform(1, 4))
            self._start_what_died(name)

    def _start_what_died(self, fault: str) -> None:
        """Record which processes ended by themselves, and restart them."""
        for worker in [each for each in self.deployment.workers if not each.still_runs()]:
            self.found.append(f"died: a worker, status {worker.wait()}, at the fault {fault!r}")
            self.deployment.workers.remove(worker)
            self.deployment.start_worker()
        service = self.deployment.service
        if service is None or not service.still_runs():
            self.found.append(f"died: the service, at the fault {fault!r}")
            self.deployment.start_service()

    def _idle_processes(self) -> None:
        """Record processes that live but do not work: each worker must do a job alone."""
        url = self.deployment.url
        wait_until(lambda: httpx.get(f"{url}/readyz").is_success, "the service is ready")
        for worker in self.deployment.workers:
            others = [other for other in self.deployment.workers if other is not worker]
            for other in others:
                other.send(signal.SIGSTOP)
            if not _does_a_job(Load(url, self._chance, stopping=True)):
                self.found.append(f"idle: the worker {worker.pid} lives and takes no job")
            for other in others:
                other.send(signal.SIGCONT)


def _does_a_job(load: Load) -> bool:
    async def ask() -> None:
        async with asyncio.timeout(SETTLE_S):
            async with httpx.AsyncClient(base_url=load.url, timeout=60) as http:
                await load.ask_one(http)

    try:
        asyncio.run(ask())
    except TimeoutError:
        return False
    return not load.wrong


async def _left_over(redis_url: str) -> list[str]:
    """Return the leftovers of finished jobs."""
    async with connect(redis_url) as redis:
        for _ in range(100):
            left = [name async for name in redis.scan_iter(f"{keys.JOB}*", count=1000)]
            if not left and not await redis.exists(keys.LEASES, keys.DEADLINES, keys.JOB_BYTES):
                return []
            await asyncio.sleep(0.1)
    return [f"left over: {left or 'leases, deadlines or bytes'}"]


def main() -> None:
    """Run the soak and print its findings; exit with 1 if there are any."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=9)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 20))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    (ROOT / ".cache").mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="soak-", dir=ROOT / ".cache"))
    deployment = Deployment(folder, **SETTINGS)
    soak = Soak(deployment, arguments.seed)
    try:
        deployment.start_store()
        deployment.start_service()
        for _ in range(WORKERS):
            deployment.start_worker()
        deployment.wait_for_workers(WORKERS)
        soak.run(arguments.minutes)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the counts are printed in any case
        traceback.print_exc()
        soak.found.append(f"the soak itself ended: {error!r}")
    finally:
        soak.report()
        deployment.stop()
    if "Traceback" in deployment.said():
        soak.found.append(f"a traceback is in the logs of {folder}")
    print("\n".join(soak.found) or "0 wrong, 0 lost, 0 stuck, 0 dead, 0 idle", flush=True)
    sys.exit(1 if soak.found else 0)


if __name__ == "__main__":
    main()
