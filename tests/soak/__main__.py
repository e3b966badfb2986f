"""`python -m tests.soak [--minutes 9]`: a deployment under load, and all that can happen to it.

At its end nothing may be wrong, lost or stuck, and every process that lives must work. Faults come
one after the other, each kind once before any comes again; a seed makes their order repeatable.
"""

import argparse
import asyncio
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import httpx

from store import keys
from store.connection import connect
from tests.integration.service.running import ROOT, Deployment
from tests.soak.faults import FAULTS
from tests.soak.load import Load
from tests.waiting import wait_until

WORKERS = 2
SETTLE_S = 120.0
SETTINGS = {"TRITOND_LEASE_S": "3", "TRITOND_DRAIN_S": "2", "TRITOND_HEAD_TIMEOUT_S": "3"}


def soak(deployment: Deployment, minutes: float) -> list[str]:
    """Return what was found to be wrong, in lines."""
    load = Load(deployment.url)
    asking = threading.Thread(target=lambda: asyncio.run(load.run()), daemon=True)
    asking.start()
    found, happened = _faults(deployment, time.monotonic() + 60 * minutes)
    print(f"happened: {dict(happened)}", flush=True)
    load.stopping = True
    asking.join(SETTLE_S)
    print(f"answered: {dict(load.answered)}; asked again: {dict(load.retried)}", flush=True)
    if not load.answered.total():
        found.append("nothing was answered")
    found += [f"wrong: {fault}" for fault in load.wrong]
    found += [f"lost: {fault}" for fault in load.lost]
    if asking.is_alive():
        found.append(f"stuck: {load.open} requests {SETTLE_S:g} s after the last fault")
    return found + _idle_processes(deployment) + asyncio.run(_left_over(deployment.redis_url))


def _faults(deployment: Deployment, until: float) -> tuple[list[str], Counter[str]]:
    found, happened = [], Counter[str]()
    order: list[str] = []
    while time.monotonic() < until:
        order = order or random.sample(sorted(FAULTS), len(FAULTS))
        name = order.pop()
        print(f"{until - time.monotonic():4.0f} s left: {name}", flush=True)
        FAULTS[name](deployment)
        happened[name] += 1
        time.sleep(random.uniform(1, 4))
        found += _dead(deployment, name)
    return found, happened


def _dead(deployment: Deployment, fault: str) -> list[str]:
    """Return which processes ended by themselves, and start others."""
    found = []
    for worker in [each for each in deployment.workers if not each.still_runs()]:
        found.append(f"died: a worker, with status {worker.wait()}, at the fault {fault!r}")
        deployment.workers.remove(worker)
        deployment.start_worker()
    if deployment.service is None or not deployment.service.still_runs():
        found.append(f"died: the service, at the fault {fault!r}")
        deployment.start_service()
    return found


def _idle_processes(deployment: Deployment) -> list[str]:
    """Return which processes live without working: each worker must do a job alone."""
    wait_until(lambda: httpx.get(f"{deployment.url}/readyz").is_success, "the service is ready")
    found = []
    for worker in deployment.workers:
        others = [other for other in deployment.workers if other is not worker]
        for other in others:
            other.send(signal.SIGSTOP)
        alone = Load(deployment.url, stopping=True)
        if not _does_a_job(alone):
            found.append(f"idle: the worker {worker.pid} lives and takes no job")
        for other in others:
            other.send(signal.SIGCONT)
    return found


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
    """Return what is left of jobs that are all over."""
    async with connect(redis_url) as redis:
        for _ in range(100):
            left = [name async for name in redis.scan_iter(f"{keys.JOB}*", count=1000)]
            if not left and not await redis.exists(keys.LEASES, keys.DEADLINES, keys.JOB_BYTES):
                return []
            await asyncio.sleep(0.1)
    return [f"left over: {left or 'leases, deadlines or bytes'}"]


def main() -> None:
    """Soak, and say what was found; exit status 1 when that is anything."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=9)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 20))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    random.seed(arguments.seed)
    (ROOT / ".cache").mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="soak-", dir=ROOT / ".cache"))
    deployment = Deployment(folder, **SETTINGS)
    try:
        deployment.start_store()
        deployment.start_service()
        for _ in range(WORKERS):
            deployment.start_worker()
        deployment.wait_for_workers(WORKERS)
        found = soak(deployment, arguments.minutes)
    finally:
        deployment.stop()
    if "Traceback" in deployment.said():
        found.append(f"a traceback is in the logs of {folder}")
    print("\n".join(found) or "0 wrong, 0 lost, 0 stuck, 0 dead, 0 idle", flush=True)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
