"""Measures what acknowledged jobs outlive: kill -9 by `appendfsync`, and a failover.

`python benchmarks/durability.py` starts its own servers on loopback: one for each setting, then a
master with two replicas and three Sentinels, with and without `ack_replicas`. Costs are ratios to
`everysec` without replicas, by the time of a submit.
"""

import asyncio
import sys
import tempfile
import time
from itertools import product
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from store.connection import StoreClient, connect  # noqa: E402
from store.errors import StoreUnavailable  # noqa: E402
from store.jobs.producer import JobProducer  # noqa: E402
from store.jobs.types import Priority  # noqa: E402
from tests.servers.conftest import Replicated, Server  # noqa: E402

SUBMITTERS = 8
BEFORE_S = 3.0
PAYLOAD = b"x" * 32_768  # more in a second than the buffers of a connection hold
POLICIES = ("always", "everysec", "no")


class Load:
    """Callers that submit jobs as fast as they are acknowledged."""

    def __init__(self, store: StoreClient) -> None:
        self._jobs = JobProducer(store)
        self.acknowledged: list[str] = []
        self.times_ms: list[float] = []
        self.accepted_at: list[float] = []
        self.stopped = False

    async def run(self) -> None:
        """Submit until `stopped`."""
        async with asyncio.TaskGroup() as tasks:
            for submitter in range(SUBMITTERS):
                tasks.create_task(self._submit(submitter))

    async def _submit(self, submitter: int) -> None:
        number = 0
        while not self.stopped:
            number += 1
            job_id, started = f"job-{submitter}-{number}", time.perf_counter()
            try:
                await self._jobs.submit(
                    job_id,
                    lane=f"compile:{submitter}-{number // 500}",
                    priority=Priority.BATCH,
                    payload=PAYLOAD,
                    caller=f"caller-{submitter}",
                    deadline_ms=600_000,
                )
            except StoreUnavailable:
                await asyncio.sleep(0.02)
                continue
            self.times_ms.append(1e3 * (time.perf_counter() - started))
            self.acknowledged.append(job_id)
            self.accepted_at.append(time.monotonic())

    async def lost(self) -> int:
        """Count acknowledged jobs that the store does not know."""
        states = await self._jobs.states(self.acknowledged)
        return states.count(None)


async def killed(folder: Path, policy: str) -> tuple[int, int, float]:
    """Kill one server under load; return acknowledged and lost jobs, and ms of a submit."""
    server = Server(folder / policy, "appendonly yes", f"appendfsync {policy}", 'save ""')
    server.start()
    server.wait_until_it_answers()
    store = connect(server.url)
    load = Load(store)
    task = asyncio.create_task(load.run())
    await asyncio.sleep(BEFORE_S)
    server.kill()
    load.stopped = True
    await task
    server.start()
    server.wait_until_it_answers()
    lost = await load.lost()
    await store.aclose()
    server.stop()
    return len(load.acknowledged), lost, median(load.times_ms)


async def failed_over(
    folder: Path, ack_replicas: int, lag_s: float
) -> tuple[int, int, float, float]:
    """Kill a master under load; return also the seconds until the next acknowledged job.

    The replicas receive nothing in the last `lag_s`, as behind a slow network.
    """
    servers = Replicated(folder)
    try:
        servers.start()
        store = connect(servers.url, ack_replicas=ack_replicas)
        load = Load(store)
        task = asyncio.create_task(load.run())
        await asyncio.sleep(BEFORE_S)
        times_ms = median(load.times_ms)
        master = servers.master()
        servers.pause_replicas()
        await asyncio.sleep(lag_s)
        master.kill()
        servers.resume_replicas()
        killed_at, before = time.monotonic(), len(load.acknowledged)
        while len(load.acknowledged) < before + 2 * SUBMITTERS:
            await asyncio.sleep(0.05)
        load.stopped = True
        await task
        lost = await load.lost()
        recovered_s = next(at for at in load.accepted_at[before:] if at > killed_at + 0.1)
        await store.aclose()
    finally:
        servers.stop()
    return len(load.acknowledged), lost, times_ms, recovered_s - killed_at


async def main() -> None:
    """Print one line for every loss."""
    lines = ["| loss | acknowledged | lost | time of a submit | back after |"]
    lines.append("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        by_policy = {policy: await killed(folder, policy) for policy in POLICIES}
        usual_ms = by_policy["everysec"][2]
        for policy, (acknowledged, lost, ms) in by_policy.items():
            what = f"kill -9, appendfsync {policy}"
            lines.append(f"| {what} | {acknowledged} | {lost} | {ms / usual_ms:.2f} x | |")
        for replicas, lag_s in product((0, 1), (0.0, 1.0)):
            failover = failed_over(folder / f"{replicas}-{lag_s}", replicas, lag_s)
            acknowledged, lost, ms, back_s = await failover
            what = f"master killed, replicas {lag_s:g} s behind, TRITOND_ACK_REPLICAS={replicas}"
            cost = f"{ms / usual_ms:.2f} x"
            lines.append(f"| {what} | {acknowledged} | {lost} | {cost} | {back_s:.1f} s |")
    print("\n".join(lines))


if __name__ == "__main__":
    asyncio.run(main())
