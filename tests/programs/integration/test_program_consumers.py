"""At its start a worker tests whether it can record, and run programs on its GPUs.

Launchers are fakes, and so is the recorder's self-test: torch is not installed here.
"""

import asyncio
import contextlib
from dataclasses import replace
from types import SimpleNamespace

import pytest

from programs.worker import program_consumers
from programs.worker.program_consumers import ProgramConsumers
from store.connection import connect_blocking
from tests.integration.worker.fake_launcher import BOOTSTRAP, SLOW
from tests.waiting import comes_true
from worker.consumer import Queue
from worker.gpu.supervisor.launchers import LauncherCommand, Launchers
from worker.gpu.supervisor.shared_gpus import SharedGpus

TOOLCHAIN = "worker-triton"
FACTS = {"ordinal": 0, "target": "cuda:90", "model": "Fake"}
COMMAND = LauncherCommand(bootstrap=BOOTSTRAP)
NO_CUDA = "import sys; sys.exit('this torch has no CUDA')"


@pytest.fixture
async def blocking(valkey):
    client = connect_blocking(valkey.url)
    yield client
    await client.aclose()


@pytest.fixture
def recorder_says(monkeypatch):
    """Return a function that sets the result of the recorder's self-test; it succeeds at first."""

    def say(fault):
        async def tried(_):
            return fault

        monkeypatch.setattr(program_consumers, "recorder_fault", tried)

    say(None)
    return say


async def nothing():
    """Replaces the start and end of recorders."""


@contextlib.asynccontextmanager
async def worker_beside(redis, blocking, gpus):
    """Run the programs part of a worker."""
    toolchain = SimpleNamespace(id=TOOLCHAIN, triton="3.9.0")
    context = SimpleNamespace(
        name="worker",
        queue=Queue(redis, blocking, 5.0),
        compiling=SimpleNamespace(toolchain=toolchain),
        slots=1,
        client=None,
        gpus=gpus,
    )
    recorder = SimpleNamespace(started=nothing, close=nothing)
    worker = ProgramConsumers(context, SimpleNamespace(recorder=recorder))
    running = asyncio.create_task(worker.run())
    try:
        yield worker
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@contextlib.asynccontextmanager
async def a_gpu(programs):
    """Yield GPUs, one of them with launchers; this command starts the program launchers."""
    launchers, gpus = Launchers([0], COMMAND, programs=programs), SharedGpus(1 << 20)
    try:
        await launchers.start()
        gpus.start(launchers, [FACTS])
        yield gpus
    finally:
        await launchers.close()


@pytest.mark.usefixtures("recorder_says")
async def test_what_records_says_that_it_is_trying_its_gpu(redis, blocking, tmp_path):
    slow = tmp_path / "slow"
    slow.touch()
    programs = replace(COMMAND, environment={SLOW: str(slow)})
    async with a_gpu(programs) as gpus, worker_beside(redis, blocking, gpus) as worker:
        await comes_true(lambda: worker.offered)
        assert worker.recording.to_dict()["tries_gpus"]
        assert gpus.programs_of(0) == []

        slow.unlink()
        assert await comes_true(lambda: gpus.programs_of(0)) == [TOOLCHAIN]
        await comes_true(lambda: not worker.recording.tries_gpus)


@pytest.mark.usefixtures("recorder_says")
async def test_a_gpu_on_which_programs_do_not_run_is_not_waited_for(redis, blocking):
    programs = replace(COMMAND, bootstrap=NO_CUDA)
    async with a_gpu(programs) as gpus, worker_beside(redis, blocking, gpus) as worker:
        await comes_true(lambda: worker.offered and not worker.recording.tries_gpus)

        assert gpus.programs_of(0) == []


@pytest.mark.usefixtures("recorder_says")
async def test_a_machine_without_a_gpu_tries_none(redis, blocking):
    gpus = SharedGpus(1 << 20)
    async with worker_beside(redis, blocking, gpus) as worker:
        await asyncio.sleep(0)
        assert not worker.offered  # not before the worker knows that there is none

        gpus.have_none()
        await comes_true(lambda: worker.offered)
        assert not worker.recording.tries_gpus


async def test_where_recording_does_not_work_no_gpu_is_offered(redis, blocking, recorder_says):
    recorder_says("it broke")
    async with a_gpu(COMMAND) as gpus, worker_beside(redis, blocking, gpus) as worker:
        await comes_true(lambda: not worker.recording.is_being_tried)

        assert (worker.offered, worker.recording.reason) == ([], "it broke")
        assert not worker.recording.tries_gpus
        assert gpus.programs_of(0) == []
