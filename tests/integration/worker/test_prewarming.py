"""Children that wait for a job prepare for it while nothing else runs."""

import asyncio
import time

import pytest

from tests.integration.worker.test_pool import TOOLCHAIN, run
from tests.waiting import comes_true
from worker.pool.child_outcome import Ending
from worker.pool.child_process import ChildProcess
from worker.pool.idle_time import IdleTime
from worker.pool.pool import Pool


@pytest.fixture
def prepared(monkeypatch):
    """Return an event: a waiting child has prepared."""
    event, prewarm = asyncio.Event(), ChildProcess.prewarm

    def prewarm_and_note(child, on_prewarmed):
        def note():
            on_prewarmed()
            event.set()

        prewarm(child, note)

    monkeypatch.setattr(ChildProcess, "prewarm", prewarm_and_note)
    return event


async def test_idle_children_prepare_and_what_that_prints_is_not_the_job_s(prepared):
    pool = Pool(TOOLCHAIN, spares={"front": 1})
    await pool.start()
    await comes_true(prepared.is_set)
    outcome = await run(pool, "prewarmed")
    await pool.close()
    assert outcome.result["prewarmed"] == ["front"]
    assert outcome.stdout == b""


async def test_a_job_that_begins_before_its_child_was_heard_to_have_prepared_keeps_its_prints(
    monkeypatch,
):
    pool, start = Pool(TOOLCHAIN, spares={"front": 1}), ChildProcess.start

    def start_and_hear_late(child, *job, **how):
        start(child, *job, **how)
        time.sleep(0.5)  # this process is slow, like on a busy machine

    await pool.start()
    monkeypatch.setattr(ChildProcess, "start", start_and_hear_late)
    (child,) = pool._spares._waiting["front"]
    child.prewarm(lambda: None)
    time.sleep(0.5)
    outcome = await run(pool, "speak")
    await pool.close()
    assert outcome.stdout == b"to stdout\n"


async def test_children_do_not_prepare_while_jobs_run(prepared):
    pool = Pool(TOOLCHAIN, spares={"front": 0, "back": 1})
    await pool.start()
    outcome = await run(pool, "busy", cpu_s=0.3)
    prepared_beside_it = prepared.is_set()
    await comes_true(prepared.is_set)
    await pool.close()
    assert outcome.ending is Ending.OK
    assert not prepared_beside_it


async def test_children_of_pools_that_share_idle_time_do_not_prepare_beside_a_job(prepared):
    idle = IdleTime()
    working = Pool(TOOLCHAIN, spares={}, idle=idle)
    waiting = Pool(TOOLCHAIN, spares={"front": 1}, idle=idle)
    await working.start()
    await waiting.start()
    outcome = await run(working, "busy", cpu_s=0.5)
    prepared_beside_it = prepared.is_set()
    await comes_true(prepared.is_set)
    await asyncio.gather(working.close(), waiting.close())
    assert outcome.ending is Ending.OK
    assert not prepared_beside_it
