"""Measures how many jobs a second one Valkey carries: 200 simulated workers, in virtual time.

Real: the store's code for services and workers, its scripts, Valkey with its append-only file, and
the slots of workers with their claims, leases and heartbeats. Simulated: time, the network, and
the compile or launch itself, which sleeps for as long as a recorded job took and appends its
events. Services take no time of a processor. The cache of records and blobs is not used: it can be
another server.

    PYTHONPATH=benchmarks python -m simulated_fleet --rates 500 1000 --jobs 20000
"""

import argparse
import asyncio
import itertools
import json
import random
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from simulated_fleet.record import RECORDED, RecordedJob
from simulated_fleet.virtual_time import VirtualClient, VirtualServer, VirtualTimeLoop
from store import keys, workers
from store.embedded import EmbeddedValkey
from store.errors import QueueFull
from store.events import Events
from store.jobs.consumer import JobConsumer, reap_for_all
from store.jobs.producer import JobProducer
from store.jobs.types import (
    Claim,
    JobEnd,
    Priority,
    QueueLimits,
    Waiting,
    compile_lane,
    cpu_lane,
    derive_lane,
    inspect_lane,
)
from store.jobs.waiting import ResultWaiter
from worker.slots import HEARTBEAT_S, Slots, every

ROOT = Path(__file__).parents[2]
TOOLCHAIN = "simulated"
LANES = {
    "compile": [lane(TOOLCHAIN) for lane in (compile_lane, inspect_lane, derive_lane)],
    "launch": [cpu_lane(TOOLCHAIN)],
}
KEEP_S = 60
LEASE_S = 15.0
WAIT_MS = 600_000
SETTLE_S = 8.0
QUEUED_MS = 3_600_000


@dataclass(frozen=True)
class Fleet:
    """A deployment, and who asks it."""

    services: int
    workers: int
    slots: int
    callers: int
    interactive_share: float


@dataclass
class Seen:
    """The ends of the jobs of one run."""

    wait_s: dict[Priority, list[float]] = field(
        default_factory=lambda: {priority: [] for priority in Priority}
    )
    run_s: float = 0.0
    refused: int = 0
    ended: int = 0


@dataclass(frozen=True)
class Measured:
    """One rate of jobs."""

    offered_per_s: float
    done_per_s: float
    refused: int
    p50_ms: float
    p95_ms: float
    interactive_p95_ms: float
    cpu_us: float
    server_busy: float
    slots_busy: float
    real_s: float


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rates", type=float, nargs="+", default=[100, 200, 400, 600, 800, 1000])
    parser.add_argument("--jobs", type=int, default=50_000, help="jobs at each rate")
    parser.add_argument("--services", type=int, default=4)
    parser.add_argument("--workers", type=int, default=200)
    parser.add_argument("--slots", type=int, default=8, help="of each worker and kind of job")
    parser.add_argument("--callers", type=int, default=100)
    parser.add_argument("--interactive", type=float, default=0.5, help="share of all jobs")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    fleet = Fleet(
        arguments.services,
        arguments.workers,
        arguments.slots,
        arguments.callers,
        arguments.interactive,
    )
    jobs = [RecordedJob(**job) for job in json.loads(RECORDED.read_text())["jobs"]]
    print(
        "| offered /s | done /s | refused | wait p50 ms | p95 ms | interactive p95 ms "
        "| Valkey us a job | Valkey busy | slots busy | real s |\n" + "|---" * 10 + "|"
    )
    for rate in arguments.rates:
        show(run(partial(measure, fleet, jobs, rate, arguments.jobs, arguments.seed)))


def show(measured: Measured) -> None:
    """Print one row."""
    print(
        f"| {measured.offered_per_s:.0f} | {measured.done_per_s:.0f} | {measured.refused} "
        f"| {measured.p50_ms:.1f} | {measured.p95_ms:.1f} | {measured.interactive_p95_ms:.1f} "
        f"| {measured.cpu_us:.0f} | {measured.server_busy:.0%} | {measured.slots_busy:.0%} "
        f"| {measured.real_s:.0f} |",
        flush=True,
    )


def run(measured: "partial[object]") -> Measured:
    """Run a measurement on an empty Valkey, in virtual time."""
    (ROOT / ".cache").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fleet-", dir=ROOT / ".cache") as folder:
        valkey = EmbeddedValkey(Path(folder))
        asyncio.run(valkey.start())
        try:
            with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
                server = VirtualServer(valkey.url)
                return runner.run(measured(server))
        finally:
            asyncio.run(valkey.stop())


async def measure(
    fleet: Fleet,
    jobs: Sequence[RecordedJob],
    per_s: float,
    count: int,
    seed: int,
    server: VirtualServer,
) -> Measured:
    """Offer `count` jobs, `per_s` a second, and wait until all are over."""
    loop, seen, client = asyncio.get_running_loop(), Seen(), partial(VirtualClient, server)
    for channel in (keys.FINISHED, keys.HAPPENED):
        server.subscribe(channel, fleet.services)
    services = [Service(client()) for _ in range(fleet.services)]
    tasks = [asyncio.create_task(server.serve())]
    tasks += [asyncio.create_task(service.results.run()) for service in services]
    for number in range(fleet.workers):
        tasks += _worker(f"worker-{number}", fleet, jobs, seen, client())
    await asyncio.sleep(SETTLE_S)
    real_s, at_s = time.monotonic(), loop.time()
    busy_s, cpu_s = server.busy_s, server.cpu_s()
    chance = random.Random(seed)
    for number in range(count):
        await asyncio.sleep(chance.expovariate(per_s))
        request = _request(chance.choice(services), fleet, jobs, number, chance, seen)
        tasks.append(asyncio.create_task(request))
    busy = (server.busy_s - busy_s) / (loop.time() - at_s)
    while seen.ended + seen.refused < count:
        await asyncio.sleep(1)
    took_s = loop.time() - at_s
    measured = Measured(
        offered_per_s=per_s,
        done_per_s=seen.ended / took_s,
        refused=seen.refused,
        p50_ms=_percentile_ms(50, *seen.wait_s.values()),
        p95_ms=_percentile_ms(95, *seen.wait_s.values()),
        interactive_p95_ms=_percentile_ms(95, seen.wait_s[Priority.INTERACTIVE]),
        cpu_us=1e6 * (server.cpu_s() - cpu_s) / seen.ended,
        server_busy=busy,
        slots_busy=seen.run_s / took_s / (fleet.workers * fleet.slots),
        real_s=time.monotonic() - real_s,
    )
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return measured


class Service:
    """The part of a service that submits jobs and waits for them."""

    def __init__(self, client: VirtualClient) -> None:
        self.jobs = JobProducer(client, QueueLimits(queued_per_caller=5_000))
        self.results = ResultWaiter(client, client)


async def _request(
    service: Service,
    fleet: Fleet,
    jobs: Sequence[RecordedJob],
    number: int,
    chance: random.Random,
    seen: Seen,
) -> None:
    """Submit one job; interactive ones are waited for."""
    which = chance.randrange(len(jobs))
    is_interactive = chance.random() < fleet.interactive_share
    job_id = f"{number:064x}"
    arrived_s = asyncio.get_running_loop().time()
    try:
        await service.jobs.submit(
            job_id,
            lane=LANES[jobs[which].kind][0],
            priority=Priority.INTERACTIVE if is_interactive else Priority.BATCH,
            payload=f"{which} {arrived_s} ".encode().ljust(jobs[which].payload_bytes),
            caller=f"caller-{chance.randrange(fleet.callers)}",
            deadline_ms=QUEUED_MS,
            timeout_ms=60_000,
            waiting=Waiting(job_id[-16:], WAIT_MS) if is_interactive else None,
            request_id=job_id[-16:],
        )
    except QueueFull:
        seen.refused += 1
        return
    if is_interactive and await service.results.wait(job_id, WAIT_MS / 1000) is None:
        raise RuntimeError(f"job {number} was not done in time")


def _worker(
    name: str, fleet: Fleet, jobs: Sequence[RecordedJob], seen: Seen, client: VirtualClient
) -> list[asyncio.Task[None]]:
    """Start the part of a worker that the store sees."""
    registry, events, tasks = workers.Workers(client), Events(client), []

    async def do(claim: Claim, attempts: JobConsumer) -> None:
        await _do(claim, attempts, jobs, events, seen)

    for kind, lanes in LANES.items():
        attempts = JobConsumer(client, client, f"{name}-{kind}")
        slots = Slots(attempts, lanes, do, fleet.slots, LEASE_S, has_reserve=True)
        beat = partial(registry.beat, _described(f"{name}-{kind}", fleet.slots))
        tasks += [asyncio.create_task(slots.run()), asyncio.create_task(every(HEARTBEAT_S, beat))]
    reaper = JobConsumer(client, client, f"{name}-reaper")
    tasks.append(asyncio.create_task(reap_for_all(reaper, lambda _: JobEnd(b"{}", False, KEEP_S))))
    return tasks


async def _do(
    claim: Claim, attempts: JobConsumer, jobs: Sequence[RecordedJob], events: Events, seen: Seen
) -> None:
    """Take as long as the recorded job did, and tell its stages: the stand-in for a compile."""
    which, arrived_s = claim.payload.split()
    job, loop = jobs[int(which)], asyncio.get_running_loop()
    seen.wait_s[claim.priority].append(loop.time() - float(arrived_s))
    step_s = job.run_ms / 1000 / (job.events + 1)
    for number in range(job.events):
        await asyncio.sleep(step_s)
        stage = {"stage": f"stage-{number}", "ms": 1000 * step_s, "size_bytes": 10_000}
        await events.append(claim.id, claim.token, "stage", stage)
    await asyncio.sleep(step_s)
    record = b'{"state":"succeeded"}'.ljust(job.record_bytes)
    if not await attempts.finish(claim.id, claim.token, record, reusable=True, keep_s=KEEP_S):
        raise RuntimeError("an attempt was lost")
    seen.run_s += job.run_ms / 1000
    seen.ended += 1


def _described(name: str, slots: int) -> workers.Worker:
    return workers.Worker(
        id=name,
        kind="compile",
        toolchain=TOOLCHAIN,
        device=None,
        sandbox="strict",
        slots=slots,
        busy=0,
    )


def _percentile_ms(percent: float, *times_s: Sequence[float]) -> float:
    ordered = sorted(itertools.chain(*times_s))
    return 1000 * ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


if __name__ == "__main__":
    main()
