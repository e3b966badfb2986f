"""A worker's fake launchers, which follow the entries of their jobs, and such jobs."""

import contextlib
import os
from pathlib import Path

import pytest

from compiler.abi import abi_of
from compiler.target import Target
from programs.gpu.program_order import ProgramOrder
from tests.integration.worker.fake_launcher import BOOTSTRAP, HOLD, SICK
from worker.gpu.launcher.launcher_order import LauncherOrder
from worker.gpu.supervisor.launchers import LauncherCommand, Launchers, LauncherSettings

GOOD, SHORT_S, LONG_S = "good", 0.5, 20.0


def job(entry):
    abi = abi_of(Target("cuda", 90, 32), [], {"name": entry, "num_warps": 4, "shared": 0})
    return LauncherOrder(b"", abi, (1, 1, 1), [], {})


@pytest.fixture
def sick(tmp_path):
    """Return the file that makes health checks fail while it exists."""
    return tmp_path / "sick"


@pytest.fixture
def hold(tmp_path):
    """Return the file that makes jobs called "held" wait while it exists."""
    path = tmp_path / "hold"
    path.touch()
    return path


@pytest.fixture
def command(sick, hold):
    environment = {SICK: str(sick), HOLD: str(hold)}
    return LauncherCommand(bootstrap=BOOTSTRAP, environment=environment, exit_s=5.0)


@contextlib.asynccontextmanager
async def launchers_of(command, programs=None, **settings):
    launchers = Launchers([0], command, LauncherSettings(**settings), programs=programs or command)
    await launchers.start()
    try:
        yield launchers
    finally:
        await launchers.close()
        assert children() == set()


def children():
    listed = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text(encoding="ascii")
    names = {int(pid): Path(f"/proc/{pid}/cmdline") for pid in listed.split()}
    return {pid for pid, path in names.items() if b"fake_launcher" in path.read_bytes()}


async def launch(launchers, entry=GOOD, caller="ada", isolation="caller", deadline_s=LONG_S):
    return await launchers.run(
        0, job(entry), caller=caller, isolation=isolation, deadline_s=deadline_s
    )


def program(entry):
    """Return a program whose tape instructs the fake launcher."""
    return ProgramOrder(
        tape=entry.encode(), inputs_tape=None, kernels={}, launches=[], seed=0, memory_bytes=1
    )


async def replay(launchers, entry=GOOD, caller="ada", deadline_s=LONG_S, **how):
    return await launchers.replay(0, program(entry), caller=caller, deadline_s=deadline_s, **how)


async def pid(launchers, **how):
    return (await launch(launchers, **how)).outputs["pid"]
