"""Processes that a worker is starting when its task is cancelled, and cancelled again."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from tests.integration.worker.launchers import command, hold, sick
from worker.cancellation import run_to_end
from worker.code_digest import ROOT
from worker.gpu.supervisor.launcher_process import LauncherProcess
from worker.pool.child_outcome import Caps
from worker.pool.zygote_client import ZygoteClient, ZygoteToolchain

__all__ = ["command", "hold", "sick"]  # fixtures


def children():
    """Return the ids of this process's children, zombies too."""
    listed = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text(encoding="ascii")
    return set(listed.split())


async def cancel_twice(starting, steps):
    """Cancel after some steps of the loop, and once more in the step after that."""
    for _ in range(steps):
        await asyncio.sleep(0)
    starting.cancel()
    await asyncio.sleep(0)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting


@pytest.mark.parametrize("steps", [1, 3])
async def test_a_launcher_leaves_no_process(command, steps):
    before = children()
    await cancel_twice(asyncio.create_task(LauncherProcess(command, 0).start()), steps)
    assert children() <= before


async def test_a_zygote_leaves_no_process():
    before = children()
    zygote = ZygoteClient(Caps(), lambda lost: None)
    toolchain = ZygoteToolchain(Path(sys.executable), ROOT)
    await cancel_twice(asyncio.create_task(zygote.open(toolchain)), steps=1)
    assert children() <= before


async def test_an_error_of_the_work_comes_before_the_cancellation():
    async def fail():
        await asyncio.sleep(0)
        raise ValueError("it failed")

    finishing = asyncio.create_task(run_to_end(fail()))
    await asyncio.sleep(0)
    finishing.cancel()
    with pytest.raises(ValueError, match="it failed"):
        await finishing
