"""`python -m worker`: a compile worker, until it is told to stop."""

import asyncio
import logging
import os
import secrets
import signal
import socket
import sys
from functools import partial
from pathlib import Path

from store import workers
from store.blobs import Blobs
from store.budget import Budget
from store.compilations import Compilations
from store.connection import Server, connect, connect_blocking
from store.derived import Derived
from store.events import Events
from store.invalidation import invalidate
from store.jobs.attempts import Attempts
from store.jobs.revocations import Revocations
from store.jobs.words import Claim
from store.lanes import compile_lane
from worker.compile import Bench
from worker.compile_job import Desk, do_job, end_lapsed
from worker.identity import identify
from worker.nursery import Toolchain as Environment
from worker.pool import Pool
from worker.settings import WorkerSettings
from worker.slots import Slots
from worker.upkeep import HEARTBEAT_S, REAP_S, SWEEP_S, every

ROOT = Path(__file__).parent.parent
logger = logging.getLogger("worker")


async def serve(settings: WorkerSettings) -> None:
    """Be a worker until SIGTERM or SIGINT."""
    redis = connect(settings.redis_url)
    blocking = connect_blocking(settings.redis_url)
    cache = connect(settings.cache_url) if settings.cache_url else redis
    pool = Pool(_environment(settings), spares=dict.fromkeys(("cut", "front", "back"), 1))
    try:
        await pool.start()
        await _work(settings, redis, blocking, cache, pool)
    finally:
        await pool.close()
        for client in {redis, blocking, cache}:
            await client.aclose()


async def _work(
    settings: WorkerSettings, redis: Server, blocking: Server, cache: Server, pool: Pool
) -> None:
    toolchain = await identify(pool, "standard")
    await workers.Toolchains(redis).offer(toolchain.id, toolchain.model_dump_json().encode())
    name = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
    budget = None if settings.cache_url else Budget(cache, settings.cache_budget_bytes)
    bench = Bench(pool, toolchain, Blobs(cache, budget), Derived(cache, "back", budget))
    compilations = Compilations(cache, budget)
    events = Events(redis, blocking)

    async def do(claim: Claim, attempts: Attempts) -> None:
        desk = Desk(attempts, compilations, events, partial(invalidate, redis), bench)
        await do_job(claim, desk)

    slots = Slots(
        lambda number: Attempts(redis, blocking, f"{name}.{number}"),
        [compile_lane(toolchain.id)],
        do,
        settings.slots,
    )
    registry = workers.Workers(redis)
    reaper = Attempts(redis, blocking, f"{name}.reaper")

    async def beat() -> None:
        level = toolchain.sandbox
        worker = workers.Worker(name, "compile", toolchain.id, None, level, slots.count, slots.busy)
        await registry.beat(worker)

    async def reap() -> None:
        for claim in await reaper.reap():
            await end_lapsed(claim, reaper, toolchain)

    async with asyncio.TaskGroup() as tasks:
        main = tasks.create_task(slots.run())
        rest = [
            tasks.create_task(Revocations(blocking, slots.revoke).run()),
            tasks.create_task(every(HEARTBEAT_S, beat)),
            tasks.create_task(every(REAP_S, reap)),
        ]
        if budget:
            rest.append(tasks.create_task(every(SWEEP_S, budget.sweep)))
        logger.info("ready: Triton %s, %d slots", toolchain.triton, slots.count)
        await _stop_signal()
        for task in (main, *rest):
            task.cancel()
    await registry.leave(name)


def _environment(settings: WorkerSettings) -> Environment:
    return Environment(python=Path(sys.executable), root=ROOT, unsafe=settings.sandbox == "unsafe")


async def _stop_signal() -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    await stopped.wait()


def main() -> None:
    """Run until told to stop."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    asyncio.run(serve(WorkerSettings()))


if __name__ == "__main__":
    main()
