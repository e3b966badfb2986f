"""A launcher serves one caller, and only while it is clean; crashes affect no other caller."""

import asyncio
import os
from pathlib import Path

import numpy as np
import pytest

from tests.gpu.bound import Bound, vector_add
from tests.gpu.conftest import a_command
from worker.gpu.supervisor.devices import find_devices
from worker.gpu.supervisor.launcher_protocol import LaunchEnding
from worker.gpu.supervisor.launchers import DeviceCordoned, Launchers, LauncherSettings

JOB_S = 30.0


def with_launchers(work, command=None, **settings):
    async def run():
        launchers = Launchers([0], command or a_command(), LauncherSettings(**settings))
        await launchers.start()
        try:
            return await work(launchers)
        finally:
            await launchers.close()

    return asyncio.run(run())


def pids():
    """Return the processes that hold a launcher of this one."""
    children = f"/proc/{os.getpid()}/task/{os.getpid()}/children"
    return set(map(int, Path(children).read_text(encoding="ascii").split()))


async def add(launchers, caller, isolation="caller"):
    job = vector_add(elements=1000)
    outcome = await launchers.run(0, job, caller=caller, isolation=isolation, deadline_s=JOB_S)
    assert outcome.ending is LaunchEnding.OK, outcome


def test_one_caller_keeps_its_launcher():
    async def work(launchers):
        await add(launchers, "ada")
        await asyncio.sleep(3)  # the spare is replaced
        before = pids()
        await add(launchers, "ada")
        assert pids() == before

    with_launchers(work)


def test_two_callers_never_share_one():
    async def work(launchers):
        await add(launchers, "ada")
        await add(launchers, "bob")
        pool = launchers._gpus[0]._launchers
        assert set(pool._bound) == {"ada", "bob"}
        assert pool._bound["ada"].pid != pool._bound["bob"].pid
        assert {pool._bound[caller].caller for caller in pool._bound} == {"ada", "bob"}

    with_launchers(work)


def test_a_launcher_is_used_once_when_that_is_asked():
    async def work(launchers):
        await add(launchers, "ada", "process")
        assert not launchers._gpus[0]._launchers._bound

    with_launchers(work)


def test_a_gpu_has_only_so_many_launchers():
    async def work(launchers):
        for caller in ("ada", "bob", "cyd", "dan", "eve"):
            await add(launchers, caller)
        await asyncio.sleep(3)
        assert len(pids()) <= 3

    with_launchers(work, most_processes=3)


def test_launchers_are_replaced_after_many_runs():
    async def work(launchers):
        await add(launchers, "ada")
        await add(launchers, "ada")
        assert not launchers._gpus[0]._launchers._bound

    with_launchers(work, most_runs=2)


def test_jobs_of_many_callers_take_turns():
    async def work(launchers):
        await asyncio.gather(*(add(launchers, f"caller {index % 3}") for index in range(12)))

    with_launchers(work)


def test_closing_leaves_no_process():
    before = pids()
    with_launchers(lambda launchers: add(launchers, "ada"))

    assert pids() <= before


def test_a_job_whose_caller_left_is_killed():
    async def work(launchers):
        bound = Bound().buffer("x_ptr", "i32", [1], {"kind": "zeros"})
        job = bound.buffer("output_ptr", "i32", [1], output=True).job("endless")
        task = asyncio.create_task(launchers.run(0, job, caller="ada", deadline_s=JOB_S))
        await asyncio.sleep(1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await add(launchers, "bob")

    with_launchers(work)


def test_a_gpu_that_fails_its_check_is_cordoned():
    async def work(launchers):
        bound = Bound().buffer("output_ptr", "fp32", [8], output=True).scalar("index", 8, "i32")
        pool = launchers._gpus[0]._launchers
        task = asyncio.create_task(
            launchers.run(0, bound.job("store_at"), caller="ada", deadline_s=JOB_S)
        )
        await asyncio.sleep(0)
        pool._ordinal = 99  # no such GPU: no launcher can be started for the check
        assert (await task).ending is LaunchEnding.FAULT
        with pytest.raises(DeviceCordoned):
            await add(launchers, "ada")
        assert "did not start" in launchers.devices[0].cordoned

    with_launchers(work, spares=1)


def test_secrets_of_the_worker_do_not_reach_a_launcher(monkeypatch):
    monkeypatch.setenv("TRITOND_TEST_SECRET", "CANARY-77aa01")

    async def work(launchers):
        await add(launchers, "ada")
        for pid in pids():
            assert b"CANARY-77aa01" not in Path(f"/proc/{pid}/environ").read_bytes()

    with_launchers(work)


def test_nothing_of_one_caller_is_seen_by_the_next():
    elements = 4_000_000
    secret = Bound().buffer("x_ptr", "fp32", [elements], {"kind": "full", "value": 7.0})
    secret.buffer("output_ptr", "fp32", [1], output=True).scalar("index", 0, "i32")
    curious = Bound().buffer("x_ptr", "fp32", [16], {"kind": "ones"})
    curious.buffer("output_ptr", "fp32", [1024], output=True).scalar("distance", 8192, "i32")

    async def work(launchers):
        await launchers.run(0, secret.job("load_at"), caller="ada", deadline_s=JOB_S)
        outcome = await launchers.run(0, curious.job("peek_before"), caller="bob",
                                      deadline_s=JOB_S)  # fmt: skip
        assert outcome.ending is LaunchEnding.OK
        assert not (np.frombuffer(bytes(outcome.outputs["output_ptr"]), np.float32) == 7.0).any()

    with_launchers(work)


def test_a_gpu_on_which_no_launcher_starts_is_cordoned():
    async def work():
        launchers = Launchers([99], a_command())
        await launchers.start()
        with pytest.raises(DeviceCordoned):
            await launchers.run(99, vector_add(), caller="ada", deadline_s=JOB_S)
        assert "did not start" in await launchers.until_cordoned(99)
        await launchers.close()

    asyncio.run(work())


def test_the_gpus_of_the_machine_are_found(figure):
    found = asyncio.run(find_devices(a_command()))

    figure(f"{found}")
    assert found[0]["target"].startswith("cuda:")
    assert found[0]["num_sms"] > 0
    assert found[0]["l2_bytes"] > 0
