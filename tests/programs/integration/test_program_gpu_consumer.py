"""The consumer of a GPU's programs with the real store and fake launchers.

A program's record shows only how its launcher ended.
"""

import asyncio
import contextlib
from types import SimpleNamespace

import pytest

from programs.worker import program_consumers
from programs.worker.gpu.gpu_replay import ProgramGpu
from programs.worker.program_consumers import ProgramGpuConsumer
from service.toolchains import reconcile_default
from store.jobs.producer import JobProducer
from store.jobs.types import program_device_lane
from store.workers import Toolchains, Worker, Workers
from tests.integration.worker.entry_jobs import kind_of_entries, results, submit
from tests.integration.worker.fake_launcher import BOOTSTRAP, SICK
from tests.integration.worker.launchers import program
from tests.waiting import comes_true
from worker import consumer as worker_consumer
from worker.consumer import Queue
from worker.gpu.supervisor.launchers import LauncherCommand, Launchers
from worker.gpu.supervisor.shared_gpus import SharedGpus

TOOLCHAIN = "station-triton"
DESCRIPTION = (
    b'{"id": "%s", "triton": "3.9.0", "ptxas": "", "host_arch": "", "targets": [], "options": {},'
    b' "sandbox": "standard"}'
)
LANE = program_device_lane(TOOLCHAIN, "cuda:90", "Fake")


async def replay_alone(attempt, gpu):
    order = program(attempt.job.entry)
    outcome = await gpu.launchers.replay(gpu.ordinal, order, caller="ada", deadline_s=20)
    record = outcome.ending.value.encode()
    await attempt.finish(record, reusable=True, keep_s=60)


@pytest.fixture(autouse=True)
def bare_programs(monkeypatch):
    """Programs that only name what the fake launcher does."""
    monkeypatch.setattr(program_consumers, "PROGRAM", kind_of_entries("programs"))


@contextlib.asynccontextmanager
async def consumer(name, redis, blocking, gpus=None, **environment):
    """Run the consumer of a GPU; yield its task."""
    command = LauncherCommand(bootstrap=BOOTSTRAP, environment=environment)
    launchers = Launchers([0], command, programs=command)
    await launchers.start()
    toolchain = SimpleNamespace(id=TOOLCHAIN, triton="3.9.0")
    compiling = SimpleNamespace(toolchain=toolchain)
    gpus = gpus or SharedGpus(1 << 20)
    context = SimpleNamespace(
        queue=Queue(redis, blocking, 5.0), compiling=compiling, slots=4, gpus=gpus
    )
    gpu = ProgramGpu(launchers, 0, gpus.in_flight)
    there = ProgramGpuConsumer(name, gpu, "Fake", context, replay_alone)
    running = asyncio.create_task(there.run())
    try:
        yield running
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await launchers.close()


async def test_programs_of_a_gpu_are_done_one_after_the_other(redis, blocking):
    entries = ("good", "fault", "good", "crash", "good")
    async with consumer("well", redis, blocking):
        await submit(redis, LANE, *entries)

        assert await results(redis, *entries) == [b"ok", b"fault", b"ok", b"signal", b"ok"]


async def test_programs_of_a_cordoned_gpu_are_done_by_another(redis, blocking, tmp_path):
    sick = tmp_path / "sick"
    sick.touch()
    entries = ("fault", "good", "good", "good")
    async with consumer("sick", redis, blocking, **{SICK: str(sick)}) as running:
        await submit(redis, LANE, *entries)
        async with asyncio.timeout(20):
            await running  # it has stopped on its own
        async with consumer("well", redis, blocking):
            assert await results(redis, *entries) == [b"fault", *[b"ok"] * 3]


async def test_programs_are_offered_as_long_as_their_consumer_runs(redis, blocking):
    gpus = SharedGpus(1 << 20)
    async with consumer("well", redis, blocking, gpus):
        assert await comes_true(lambda: gpus.programs_of(0)) == [TOOLCHAIN]

    assert gpus.programs_of(0) == []


async def test_programs_of_a_toolchain_that_an_upgrade_replaced_are_done_by_the_new_one(
    redis, blocking, monkeypatch
):
    """As after an upgrade by `tritond up`: the old programs are in the data folder, on the lane of
    the GPU.
    """
    monkeypatch.setattr(worker_consumer, "HEARTBEAT_S", 0.1)
    workers, toolchains, jobs = Workers(redis), Toolchains(redis), JobProducer(redis)
    for name in ("old", TOOLCHAIN):
        await toolchains.register(name, DESCRIPTION % name.encode())
    await workers.beat(
        Worker("gpu", "launch", None, "cuda:90 Fake", "launcher", 1, 0, programs=["old"])
    )
    await submit(redis, program_device_lane("old", "cuda:90", "Fake"), "good")
    await workers.unregister("gpu")
    await workers.beat(Worker("new", "compile", TOOLCHAIN, None, "standard", 1, 0))
    for _ in range(2):
        await reconcile_default(workers, toolchains, jobs)

    async with consumer("new", redis, blocking):
        assert await results(redis, "good") == [b"ok"]
    assert await reconcile_default(workers, toolchains, jobs) == [
        "toolchain old (Triton 3.9.0) is not offered any more"
    ]
