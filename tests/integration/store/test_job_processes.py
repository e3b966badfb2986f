"""Jobs with real processes that die at any moment: each job ends once, and none is lost."""

import asyncio
import subprocess
import sys

import pytest

from store.jobs.types import QueueLimits
from tests.waiting import LIMIT_S, comes_true

WORKER = """
import asyncio, sys
from store.connection import connect, connect_blocking
from store.jobs.consumer import JobConsumer
from store.jobs.types import QueueLimits

async def work(url, name):
    redis, blocking = connect(url), connect_blocking(url)
    attempts = JobConsumer(redis, blocking, name, QueueLimits(lease_ms=1000))
    while True:
        claim = await attempts.claim(["compile:a"])
        if claim is None:
            await attempts.wait_for_work(5)
            continue
        print("claimed", flush=True)
        await asyncio.sleep(0.02)
        if claim.payload == b"kills its worker":
            await asyncio.Event().wait()
        await attempts.finish(claim.id, claim.token, name.encode(), reusable=True, keep_s=60)

asyncio.run(work(*sys.argv[1:]))
"""


@pytest.fixture
def start_worker(valkey):
    """Return a function that starts workers, which end with the test."""
    started = []

    def start_worker(name):
        command = [sys.executable, "-c", WORKER, valkey.url, name]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield start_worker
    for process in started:
        end(process)


def end(process):
    process.kill()
    process.wait(LIMIT_S)
    process.stdout.close()


async def test_a_job_whose_worker_was_killed_is_done_by_another(
    start_worker, submit, worker, finished
):
    await submit("victim", lane="compile:a", payload=b"kills its worker")
    dying = start_worker("dying")
    await asyncio.to_thread(dying.stdout.readline)
    end(dying)

    async def is_delivered_again():
        assert await worker("reaper").reap() == []
        return await worker("healthy").claim(["compile:a"])

    again = await comes_true(is_delivered_again)

    assert (again.id, again.deliveries) == ("victim", 2)
    await worker("healthy").finish("victim", again.token, b"healthy", reusable=True, keep_s=60)
    assert (await finished.wait("victim", 60)).record == b"healthy"


@pytest.mark.slow
async def test_no_job_is_lost_while_workers_come_and_go(start_worker, submit, worker, finished):
    ids = [f"job-{n}" for n in range(40)]
    for n, job_id in enumerate(ids):
        await submit(job_id, lane="compile:a", caller=f"caller-{n % 3}")
    reaper = worker("reaper", QueueLimits().lease_ms)
    processes = [start_worker(f"worker-{n}") for n in range(2)]

    async def kill_one_after_the_other():
        for n in range(3):
            await asyncio.to_thread(processes[n].stdout.readline)
            end(processes[n])
            processes.append(start_worker(f"worker-{n + 2}"))
            assert await reaper.reap() == []

    killing = asyncio.create_task(kill_one_after_the_other())
    waiting = asyncio.gather(*(finished.wait(job_id, 60) for job_id in ids))
    while not waiting.done():
        await reaper.reap()
        await asyncio.wait([waiting], timeout=0.1)
    await killing

    results = await waiting
    assert all(result.record.startswith(b"worker-") for result in results)
