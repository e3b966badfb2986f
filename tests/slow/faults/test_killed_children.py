"""Jobs whose child was killed from outside, as by the OOM killer, run again."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest_asyncio

from tests.security.tree import descendants
from tests.waiting import comes_true
from worker.pool.child_outcome import Ending
from worker.pool.pool import MAX_TRIES, Pool, killed_from_outside
from worker.pool.zygote_client import ZygoteToolchain

ROOT = Path(__file__).parents[3]
TOOLCHAIN = ZygoteToolchain(Path(sys.executable), ROOT, "tests.integration.worker.pool_tasks")


@pytest_asyncio.fixture
async def pool():
    pool = Pool(TOOLCHAIN)
    await pool.start()
    yield pool
    await pool.close()


def cpu_ticks(pid):
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0
    return int(fields[11])


async def working_child(pool, known=()):
    """Return the busy child, which takes all the CPU time it gets."""
    first = {}

    def at_work():
        ticks = {pid: cpu_ticks(pid) for pid in descendants(pool.zygote_pid) if pid not in known}
        return next((pid for pid in ticks if ticks[pid] - first.setdefault(pid, ticks[pid]) > 4), 0)

    return await comes_true(at_work)


async def test_the_task_of_a_killed_child_is_done_by_another(pool):
    running = asyncio.create_task(
        pool.run("front", {"task": "busy", "cpu_s": 1}, b"", deadline_s=30)
    )
    os.kill(await working_child(pool), signal.SIGKILL)

    assert (await running).ending is Ending.OK


async def test_the_task_of_a_killed_zygote_is_done_under_another(pool):
    running = asyncio.create_task(
        pool.run("front", {"task": "busy", "cpu_s": 1}, b"", deadline_s=30)
    )
    await working_child(pool)
    os.kill(pool.zygote_pid, signal.SIGKILL)

    assert (await running).ending is Ending.OK


async def test_a_task_whose_children_are_always_killed_ends(pool):
    running = asyncio.create_task(pool.run("front", {"task": "wait"}, b"", deadline_s=30))
    killed = set()
    for _ in range(MAX_TRIES):
        child = await working_child(pool, killed)
        killed.add(child)
        os.kill(child, signal.SIGKILL)

    outcome = await running
    assert (outcome.ending, outcome.signal) == (Ending.SIGNAL, signal.SIGKILL)
    assert killed_from_outside(outcome, "front")


async def test_a_task_that_takes_too_long_is_not_tried_again(pool):
    outcome = await pool.run("front", {"task": "wait"}, b"", deadline_s=0.5)

    assert outcome.ending is Ending.DEADLINE
    assert not killed_from_outside(outcome, "front")
