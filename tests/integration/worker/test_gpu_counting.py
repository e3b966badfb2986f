"""The process that counts GPUs ends with the task that waits for it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.waiting import comes_true
from worker.gpu.supervisor.devices import NoDevices, find_devices
from worker.gpu.supervisor.launcher_process import LauncherCommand

NEVER_ENDS = """
import os, pathlib, time

def main():
    pathlib.Path({pid!r}).write_text(str(os.getpid()))
    time.sleep(60)
"""


@pytest.fixture
def command(tmp_path: Path) -> LauncherCommand:
    """Return a command whose process notes its id in `tmp_path / "pid"` and then sleeps."""
    package = tmp_path / "worker" / "gpu" / "supervisor"
    package.mkdir(parents=True)
    for folder in (package, *package.parents[:2]):
        (folder / "__init__.py").touch()
    (package / "devices.py").write_text(NEVER_ENDS.format(pid=str(tmp_path / "pid")))
    return LauncherCommand(root=tmp_path)


def is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def test_a_cancelled_count_leaves_no_process(command, tmp_path):
    counting = asyncio.create_task(find_devices(command))
    pid = int(await comes_true(lambda: (tmp_path / "pid").exists() and noted(tmp_path)))
    counting.cancel()
    await asyncio.gather(counting, return_exceptions=True)

    assert not is_there(pid)


async def test_a_process_that_is_late_is_killed(command, tmp_path):
    with pytest.raises(NoDevices, match="more than 2 s"):
        await find_devices(command, timeout_s=2)

    assert not is_there(int(noted(tmp_path)))


def noted(tmp_path: Path) -> str:
    return (tmp_path / "pid").read_text()
