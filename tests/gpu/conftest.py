"""Tests in this folder skip without an NVIDIA GPU and the cubins of make_cubins.py.

`--require-gpu` turns a missing GPU into a failure, so that a run on a GPU machine cannot pass by
skipping everything.
"""

import asyncio
import fcntl
import os
import tempfile
from pathlib import Path

import pytest

from tests.gpu.builds import NoCubins, read_build
from worker.gpu.supervisor.devices import NoDevices, find_devices
from worker.gpu.supervisor.launchers import LauncherCommand, Launchers, LauncherSettings

DEADLINE_S = 30.0


def pytest_addoption(parser):
    parser.addoption("--require-gpu", action="store_true", help="fail instead of skip without one")


def a_command(**changes) -> LauncherCommand:
    """Return the command that starts launchers; the caller's PYTHONPATH may provide modules."""
    path = os.environ.get("PYTHONPATH")
    return LauncherCommand(environment={"PYTHONPATH": path} if path else {}, **changes)


@pytest.fixture(scope="session", autouse=True)
def gpus(request):
    """Return the properties of this machine's GPUs."""
    try:
        read_build("add")
        found = asyncio.run(find_devices(a_command()))
        assert found, "the driver counts no GPU"
    except (NoDevices, NoCubins, AssertionError) as missing:
        if request.config.getoption("--require-gpu", default=False):
            pytest.fail(f"no GPU to test on: {missing}")
        pytest.skip(f"no GPU to test on: {str(missing).strip().splitlines()[-1]}")
    return found


@pytest.fixture
def launch(figure):
    """Return a function that runs jobs in turn for one caller and gives the last outcome.

    Afterwards a vector add must still give the right result.
    """

    def run(*jobs, deadline_s=DEADLINE_S, after=True, **changes):
        return asyncio.run(_run(jobs, deadline_s, after, a_command(**changes)))

    return run


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """Yield a client of a tritond that runs programs on the GPU; needs torch with CUDA."""
    from tests.gpu.programs_on_gpu import programs_on_gpu

    with programs_on_gpu(tmp_path_factory.mktemp("programs")) as client:
        yield client


async def _run(jobs, deadline_s, after, command):
    from tests.gpu.bound import vector_add, vector_add_expected

    launchers = Launchers([0], command, LauncherSettings(spares=1))
    await launchers.start()
    try:
        for job in jobs:
            outcome = await launchers.run(0, job, caller="ada", deadline_s=deadline_s)
        if after:
            small = vector_add(elements=1000)
            next_one = await launchers.run(0, small, caller="ada", deadline_s=DEADLINE_S)
            assert next_one.outputs["output_ptr"] == vector_add_expected(1000).tobytes()
            assert launchers.devices[0].cordoned is None
    finally:
        await launchers.close()
    return outcome


@pytest.fixture
def counters():
    """Lock the GPU's performance counters: concurrent runs of ncu lose counts."""
    with (Path(tempfile.gettempdir()) / "tritond-test-counters").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture
def figure(record_property):
    """Return a function that records a number of this test for the report of the run."""
    return lambda text: record_property("figure", text)


@pytest.fixture(scope="module")
def launcher():
    """Yield a program launcher, which starts with the first program."""
    from tests.gpu.program_launching import Launcher

    launcher = Launcher()
    yield launcher
    launcher.close()
