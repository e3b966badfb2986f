"""Tasks that run no user code share a child, one job after the other."""

import asyncio
import sys
from pathlib import Path

import pytest_asyncio

from tests.waiting import comes_true
from worker.pool import child_outcome
from worker.pool import pool as pools
from worker.pool.child_outcome import Ending
from worker.pool.pool import Pool
from worker.pool.zygote_client import ZygoteToolchain

ROOT = Path(__file__).parents[3]
TOOLCHAIN = ZygoteToolchain(Path(sys.executable), ROOT, "tests.integration.worker.kept_tasks")


@pytest_asyncio.fixture
async def pool():
    pool = Pool(TOOLCHAIN, spares={"parse": 1})
    await pool.start()
    yield pool
    await pool.close()


async def act(pool, do="", on_stage=None, **more):
    header = {"task": "read", "do": do, **more}
    stages = ("begun",)
    return await pool.run("parse", header, b"text", deadline_s=60, stages=stages, on_stage=on_stage)


async def test_jobs_follow_each_other_in_one_process(pool):
    outcomes = [await act(pool) for _ in range(5)]

    assert len({outcome.result["pid"] for outcome in outcomes}) == 1
    assert [outcome.result["before"] for outcome in outcomes] == [[], *[["forgotten"]] * 4]


async def test_a_failure_of_the_task_s_own_naming_costs_no_child(pool):
    first = await act(pool)
    refused = await act(pool, "refuse")
    after = await act(pool)

    assert refused.failure["slug"] == "syntax_error"
    assert after.result["pid"] == first.result["pid"]


async def test_what_a_job_prints_is_its_own(pool):
    said = [(await act(pool, print=text)).stdout for text in ("one", "", "three")]

    assert said == [b"one", b"", b"three"]


async def test_any_other_task_gets_a_process_that_did_nothing_before(pool):
    kept_pid = (await act(pool, name="keeps_a_name")).result["pid"]
    others = [await pool.run("parse", {"task": "other"}, b"", deadline_s=20) for _ in range(2)]

    assert [outcome.result["before"] for outcome in others] == [[], []]
    assert len({kept_pid, *(outcome.result["pid"] for outcome in others)}) == 3


async def test_what_goes_wrong_in_a_used_child_is_done_again_in_a_fresh_one(pool, monkeypatch):
    monkeypatch.setattr(pools, "REUSED_CHILD_LIMIT_S", 0.5)
    for how in ("die", "hang", "lack_memory", "flood", "garbage"):
        first = await act(pool)
        outcome = await act(pool, f"{how}_if_used")
        after = await act(pool)

        assert outcome.ending is Ending.OK, how
        assert outcome.result["before"] == [], how
        assert outcome.result["pid"] != first.result["pid"], how
        assert after.ending is Ending.OK, how


async def test_a_job_that_kills_every_child_costs_itself_alone(pool):
    await act(pool)
    killed = await act(pool, "die")
    after = await act(pool)

    assert killed.ending is Ending.SIGNAL
    assert after.ending is Ending.OK


async def test_a_child_that_did_enough_is_replaced(pool, monkeypatch):
    bounds = {"MAX_JOBS": 1, "MAX_BYTES": 1, "MAX_BUSY_S": 0, "MAX_LIFE_S": 0}
    for bound, value in (bounds | {"MAX_RSS_BYTES": 200 << 20}).items():
        do = "grow" if bound == "MAX_RSS_BYTES" else ""
        with monkeypatch.context() as changed:
            changed.setattr(child_outcome, bound, value)
            pids = [(await act(pool, do)).result["pid"] for _ in range(2)]

        assert pids[0] != pids[1], bound


async def test_jobs_at_once_each_have_a_process(pool):
    outcomes = await asyncio.gather(*(act(pool, name="keeps_a_name") for _ in range(4)))

    assert len({outcome.result["pid"] for outcome in outcomes}) == 4


async def test_a_job_without_interest_ends_with_its_child(pool):
    first = await act(pool)
    begun = asyncio.Event()
    waiting = asyncio.ensure_future(act(pool, "hang_if_used", on_stage=lambda _: begun.set()))
    await comes_true(begun.is_set)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)

    assert (await act(pool)).result["pid"] != first.result["pid"]
