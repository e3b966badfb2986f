"""Workers that stop, and processes that end, while others wait for their results."""

from __future__ import annotations

import asyncio
import signal
import time

from store.connection import connect, connect_blocking
from store.jobs.consumer import JobConsumer
from tests.fleet.fleet import RECOVERY_S, WORKERS, Fleet, Record
from tests.fleet.load import Load
from tests.waiting import wait_until


async def finish(fleet: Fleet, job_id: str, token: int) -> bool:
    """Hand in a result, as the attempt with this token would."""
    url = fleet.servers.url
    async with connect(url) as redis, connect_blocking(url) as blocking:
        attempts = JobConsumer(redis, blocking, "late")
        return await attempts.finish(job_id, token, b"{}", reusable=True, keep_s=600)


def test_a_worker_that_stands_still_has_no_result_accepted(
    fleet: Fleet, load: Load, record_property: Record
) -> None:
    worker = fleet.parts["worker-2"]

    def stop_with_a_job() -> dict[str, int]:
        worker.send(signal.SIGSTOP)
        held = fleet.held("worker-2")
        if not held:
            worker.send(signal.SIGCONT)
        return held

    held = wait_until(stop_with_a_job, "worker-2 stands still with a job", fleet.said)
    stopped_at = time.monotonic()
    recovery_s = load.recovery_s(stopped_at)
    record_property("recovery_s", recovery_s)

    assert [asyncio.run(finish(fleet, *attempt)) for attempt in held.items()] == [False] * len(held)
    worker.send(signal.SIGCONT)
    fleet.wait_for_jobs_of("worker-2")
    assert recovery_s < RECOVERY_S


def test_the_process_that_reaps_is_killed_and_a_worker_too(
    fleet: Fleet, load: Load, record_property: Record
) -> None:
    reaper = wait_until(fleet.reaper, "a part reaps", fleet.said)
    worker = next(name for name in WORKERS if name != reaper)
    fleet.wait_for_jobs_of(worker)
    for name in (reaper, worker):
        fleet.end(name, signal.SIGKILL)
    killed_at = time.monotonic()
    recovery_s = load.recovery_s(killed_at)
    record_property("recovery_s", recovery_s)

    assert fleet.reaper() not in {reaper, worker, None}
    assert recovery_s < RECOVERY_S
