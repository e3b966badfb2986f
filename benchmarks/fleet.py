"""Measures a fleet's load on its store: Valkey's CPU per job with 10, 100 and 1,600 idle slots.

Towards the store the workers are real: claimers, heartbeats, reapers and subscriptions. They
compile nothing, so that only the protocol is measured, and share one process.
"""

import argparse
import asyncio
import tempfile
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

from table import Row, show

from store import workers
from store.connection import StoreClient, connect, connect_blocking
from store.embedded import EmbeddedValkey
from store.jobs.consumer import JobConsumer, Revocations, reap_for_all
from store.jobs.producer import JobProducer
from store.jobs.types import Claim, Priority, compile_lane, cpu_lane
from store.jobs.waiting import ResultWaiter
from worker.slots import HEARTBEAT_S, Slots, every

ROOT = Path(__file__).parent.parent
SLOTS_PER_WORKER = 10
FLEETS = (10, 100, 1_600)
LEASE_S = 15.0
RECORD = b'{"state":"failed"}'
TOOLCHAIN = "benchmark"
SETTLE_S = 6.0  # after this, all have registered and wait
BAR = 1.3


@dataclass(frozen=True)
class Measured:
    """Valkey's CPU for one fleet: per job, and per second without jobs."""

    per_job_us: float
    idle_us_per_s: float


async def _finish(claim: Claim, attempts: JobConsumer) -> None:
    await attempts.finish(claim.id, claim.token, RECORD, reusable=False, keep_s=60)


async def _work(name: str, url: str) -> None:
    """Act as a worker until cancelled: compilations, and launches on the CPU device."""
    lanes = {"compile": compile_lane(TOOLCHAIN), "launch": cpu_lane(TOOLCHAIN)}
    async with (
        connect(url) as redis,
        connect_blocking(url) as blocking,
        asyncio.TaskGroup() as group,
    ):
        for kind, lane in lanes.items():
            attempts = JobConsumer(redis, blocking, f"{name}-{kind}")
            slots = Slots(attempts, [lane], _finish, SLOTS_PER_WORKER, LEASE_S, has_reserve=True)
            group.create_task(slots.run())
            group.create_task(Revocations(blocking, slots.revoke).run())
            beat = partial(workers.Workers(redis).beat, _described(f"{name}-{kind}"))
            group.create_task(every(HEARTBEAT_S, beat))
        reaper = JobConsumer(redis, blocking, f"{name}-reaper")
        group.create_task(reap_for_all(reaper, lambda _: RECORD))


def _described(name: str) -> workers.Worker:
    return workers.Worker(
        id=name,
        kind="compile",
        toolchain=TOOLCHAIN,
        device=None,
        sandbox="strict",
        slots=SLOTS_PER_WORKER,
        busy=0,
    )


async def _cpu_us(redis: StoreClient) -> float:
    info = await redis.info("cpu")
    return 1e6 * (info["used_cpu_user"] + info["used_cpu_sys"])


async def _measure(url: str, slots: int, jobs: int, per_s: float) -> Measured:
    async with AsyncExitStack() as stack:
        redis = await stack.enter_async_context(connect(url))
        blocking = await stack.enter_async_context(connect_blocking(url))
        await redis.flushall()
        finished = ResultWaiter(redis, blocking)
        tasks = [asyncio.create_task(finished.run())]
        count = slots // SLOTS_PER_WORKER
        tasks += [asyncio.create_task(_work(f"worker-{number}", url)) for number in range(count)]
        stack.push_async_callback(_cancel, tasks)
        await asyncio.sleep(SETTLE_S)
        before, began = await _cpu_us(redis), time.monotonic()
        await asyncio.sleep(SETTLE_S)
        idle_us_per_s = (await _cpu_us(redis) - before) / (time.monotonic() - began)
        before = await _cpu_us(redis)
        await _submit(JobProducer(redis), finished, jobs, per_s)
        return Measured((await _cpu_us(redis) - before) / jobs, idle_us_per_s)


async def _submit(jobs: JobProducer, finished: ResultWaiter, count: int, per_s: float) -> None:
    """Submit `count` jobs of ten callers, `per_s` a second, and wait for each."""
    waiting = []
    began = time.monotonic()
    for number in range(count):
        await asyncio.sleep(max(0.0, began + number / per_s - time.monotonic()))
        waiting.append(asyncio.create_task(_ask(jobs, finished, number)))
    if not all(await asyncio.gather(*waiting)):
        raise RuntimeError("a job was not done")


async def _ask(jobs: JobProducer, finished: ResultWaiter, number: int) -> bool:
    job_id = f"{number:064x}"
    await jobs.submit(
        job_id,
        lane=compile_lane(TOOLCHAIN),
        priority=Priority.INTERACTIVE,
        payload=b" " * 2_000,
        caller=f"caller-{number % 10}",
        deadline_ms=60_000,
    )
    return await finished.wait(job_id, 60) is not None


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _run(jobs: int, per_s: float, rounds: int) -> None:
    (ROOT / ".cache").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fleet-", dir=ROOT / ".cache") as folder:
        async with EmbeddedValkey(Path(folder)) as valkey:
            by_slots: dict[int, list[Measured]] = {slots: [] for slots in FLEETS}
            for _ in range(rounds):  # in turns, so that a noisy machine affects all
                for slots, measured in by_slots.items():
                    measured.append(await _measure(valkey.url, slots, jobs, per_s))
                    last = measured[-1]
                    print(
                        f"{slots} slots: {last.per_job_us:.0f} us of Valkey a job, "
                        f"{last.idle_us_per_s / 1e4:.2f} % of a core without any",
                        flush=True,
                    )
    base = median(each.per_job_us for each in by_slots[FLEETS[0]])
    rows = []
    for slots in FLEETS[1:]:
        ours = median(each.per_job_us for each in by_slots[slots])
        name = f"Valkey's CPU per job, {slots} idle slots in addition to {FLEETS[0]}"
        rows.append(Row(name, f"{ours:.0f} us", f"{base:.0f} us", ours / base, BAR))
    show(rows)


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1_000)
    parser.add_argument("--per-s", type=float, default=100, help="jobs a second")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    asyncio.run(_run(arguments.jobs, arguments.per_s, arguments.rounds))


if __name__ == "__main__":
    main()
