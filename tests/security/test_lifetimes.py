"""A dying child, zygote or worker takes its descendants along, and work continues where it can."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.security.conftest import ROOT
from tests.security.tree import descendants, wait_until_dead
from tests.waiting import comes_true, wait_until
from worker.pool.child_outcome import Ending
from worker.pool.pool import Pool

pytestmark = pytest.mark.asyncio(loop_scope="session")

ASSEMBLER_THAT_WAITS = """
import os, subprocess
reading, writing = os.pipe()
os.set_inheritable(reading, True)
os.set_inheritable(writing, True)
output = os.memfd_create("cubin", 0)
command = [header["ptxas"], f"/proc/self/fd/{reading}", "-o", f"/proc/self/fd/{output}"]
program = subprocess.Popen(command, close_fds=False, env={})
"""


async def _assembling(pool, ptxas, then, deadline_s):
    header = {"task": "execute", "ptxas": ptxas}
    source = ASSEMBLER_THAT_WAITS + then
    return await pool.run("back", header, source.encode(), deadline_s=deadline_s)


def _assemblers(pool, ptxas):
    def program(pid):
        try:
            return str(Path(f"/proc/{pid}/exe").readlink())
        except OSError:
            return ""

    return {pid for pid in descendants(pool.zygote_pid) if program(pid) == ptxas}


async def test_a_deadline_ends_the_assembler_too(pool, ptxas):
    running = asyncio.ensure_future(_assembling(pool, ptxas, "program.wait()", deadline_s=2))
    started = await comes_true(lambda: _assemblers(pool, ptxas))
    outcome = await running
    assert outcome.ending is Ending.DEADLINE
    wait_until_dead(started)


async def test_cancelling_the_caller_ends_child_and_assembler(pool, ptxas):
    running = asyncio.ensure_future(_assembling(pool, ptxas, "program.wait()", deadline_s=60))
    started = await comes_true(lambda: _assemblers(pool, ptxas))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    wait_until_dead(started)


async def test_an_orphan_does_not_hold_up_the_end_of_its_job(pool, ptxas):
    """It holds the result pipe open, so the pipe never ends; the child's exit does."""
    then = """
os.set_inheritable(4, True)
second = subprocess.Popen(command, close_fds=False, env={})
os._exit(0)
"""
    async with asyncio.timeout(50):
        outcome = await _assembling(pool, ptxas, then, deadline_s=60)
    assert outcome.ending is Ending.SILENT
    await comes_true(lambda: not _assemblers(pool, ptxas))


async def test_when_the_zygote_is_killed_nothing_survives_and_another_one_starts(toolchain, ptxas):
    pool = Pool(toolchain())
    await pool.start()
    running = asyncio.ensure_future(_assembling(pool, ptxas, "program.wait()", deadline_s=60))
    await comes_true(lambda: _assemblers(pool, ptxas))
    old = pool.zygote_pid
    family = descendants(old) | {old}
    os.kill(old, signal.SIGKILL)
    # the job runs again, in a child of another zygote
    await comes_true(lambda: pool.zygote_pid != old and _assemblers(pool, ptxas))
    wait_until_dead(family)
    running.cancel()
    again = await pool.run("front", {"task": "execute"}, b"answer = 7", deadline_s=60)
    assert again.result["answer"] == 7
    assert pool.zygote_pid != old
    await pool.close()


ENDLESS = "send({'kind': 'stage', 'stage': 'runs', 'ms': 0}, b'')\nwhile True: pass"
WORKER = """
import asyncio, sys
from pathlib import Path
from worker.pool.zygote_client import ZygoteToolchain
from worker.pool.pool import Pool

async def main():
    pool = Pool(ZygoteToolchain(Path(sys.argv[1]), Path.cwd(), "tests.security.hostile"))
    await pool.start()
    await pool.run(
        "front", {"task": "execute"}, sys.argv[2].encode(), deadline_s=60, stages=("runs",),
        on_stage=lambda stage: print(stage.name, flush=True),
    )

asyncio.run(main())
"""


async def test_when_the_worker_is_killed_nothing_survives(python):
    command = [sys.executable, "-c", WORKER, str(python), ENDLESS]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as worker:
        try:
            assert worker.stdout.readline() == b"runs\n"
            wait_until(lambda: len(descendants(worker.pid)) >= 4, "children of all kinds")
            family = descendants(worker.pid)
        finally:
            worker.kill()
        wait_until_dead(family)


async def test_closing_the_pool_ends_everything(toolchain):
    pool = Pool(toolchain())
    await pool.start()
    begun = asyncio.Event()
    running = asyncio.ensure_future(
        pool.run(
            "front",
            {"task": "execute"},
            ENDLESS.encode(),
            deadline_s=60,
            stages=("runs",),
            on_stage=lambda _: begun.set(),
        )
    )
    await comes_true(begun.is_set)
    family = descendants(pool.zygote_pid) | {pool.zygote_pid}
    await pool.close()
    assert (await running).ending is Ending.SIGNAL
    wait_until_dead(family)
