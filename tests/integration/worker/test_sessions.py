"""Jobs of one session share a child, which no other session uses and which ends with it."""

import asyncio
import os
import sys
from pathlib import Path

import pytest
import pytest_asyncio

from tests.waiting import comes_true
from worker.pool import child_outcome
from worker.pool.child_outcome import Ending
from worker.pool.pool import Pool
from worker.pool.session import ChildSession
from worker.pool.zygote_client import ZygoteToolchain

ROOT = Path(__file__).parents[3]
TOOLCHAIN = ZygoteToolchain(Path(sys.executable), ROOT, "tests.integration.worker.kept_tasks")
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool():
    pool = Pool(TOOLCHAIN, spares={"front": 1, "parse": 1})
    await pool.start()
    yield pool
    await pool.close()


async def run(session, do="", deadline_s=60, **more):
    header = {"task": "other", "do": do, **more}
    return await session.run("front", header, b"text", deadline_s=deadline_s, stages=("begun",))


async def test_jobs_of_a_session_follow_each_other_in_one_process(pool):
    with ChildSession(pool) as session:
        outcomes = [await run(session) for _ in range(4)]

    assert len({outcome.result["pid"] for outcome in outcomes}) == 1
    assert [len(outcome.result["before"]) for outcome in outcomes] == [0, 1, 1, 1]


async def test_two_sessions_share_nothing_nor_does_a_job_without_one(pool):
    with ChildSession(pool) as one, ChildSession(pool) as other:
        mixed = [await run(session) for session in (one, other, one, pool)]

    assert [len(outcome.result["before"]) for outcome in mixed] == [0, 0, 1, 0]
    assert len({outcome.result["pid"] for outcome in mixed}) == 3


async def test_its_process_ends_with_the_session(pool):
    with ChildSession(pool) as session:
        await run(session)
        child = session._held._child

    outcome = await asyncio.wait_for(child.outcome, 10)
    assert outcome.ending is Ending.SIGNAL
    assert await comes_true(lambda: child._pidfd is None)


async def test_a_session_that_was_closed_keeps_nothing_of_a_job_that_still_ran(pool):
    session = ChildSession(pool)
    running = asyncio.create_task(run(session))
    await asyncio.sleep(0)
    session.close()
    await running
    assert session._held._child is None


@pytest.mark.parametrize("how", ["die", "lack_memory", "flood", "garbage"])
async def test_a_job_that_fails_in_a_used_child_is_done_again_in_a_fresh_one(pool, how):
    with ChildSession(pool) as session:
        first = await run(session)
        outcome = await run(session, f"{how}_if_used")
        after = await run(session)

    assert outcome.ending is Ending.OK
    assert outcome.result["before"] == []
    assert outcome.result["pid"] != first.result["pid"]
    assert after.result["pid"] == outcome.result["pid"]


async def test_a_job_that_kills_every_child_costs_itself_alone(pool):
    with ChildSession(pool) as session:
        await run(session)
        killed = await run(session, "die")
        after = await run(session)

    assert killed.ending is Ending.SIGNAL
    assert after.ending is Ending.OK


async def test_a_job_whose_time_is_over_is_not_begun_again(pool):
    with ChildSession(pool) as session:
        await run(session)
        late = await run(session, "hang_if_used", deadline_s=0.5)

    assert late.ending is Ending.DEADLINE
    assert len(late.stages) == 1


async def test_a_child_that_did_enough_is_followed_by_another(pool, monkeypatch):
    monkeypatch.setattr(child_outcome, "MAX_JOBS", 2)
    with ChildSession(pool) as session:
        pids = [(await run(session)).result["pid"] for _ in range(5)]

    assert [pids.index(pid) for pid in pids] == [0, 0, 2, 2, 4]


async def test_a_session_goes_on_when_its_zygote_was_lost(pool):
    with ChildSession(pool) as session:
        await run(session)
        lost = session._held._child
        os.kill(pool.zygote_pid, 9)
        await asyncio.wait_for(lost.outcome, 10)
        after = await run(session)

    assert after.ending is Ending.OK
    assert after.result["before"] == []
