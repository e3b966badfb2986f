"""A GPU's consumer with the real store and fake launchers; a record has only the launcher's end."""

import asyncio
import contextlib
from types import SimpleNamespace

import pytest

from compiler.abi import abi_of
from compiler.target import Target
from jobs.submission import JobClient
from store.jobs.producer import JobProducer
from store.jobs.types import device_lane
from store.workers import Workers
from tests.integration.worker.entry_jobs import kind_of_entries, results, submit
from tests.integration.worker.fake_launcher import BOOTSTRAP, SICK
from tests.waiting import comes_true
from worker.bytes_in_flight import BytesInFlight
from worker.consumer import Queue
from worker.fair_queue import FairQueue
from worker.gpu.launcher.launcher_order import LauncherOrder
from worker.gpu.supervisor.launchers import LauncherCommand, Launchers
from worker.gpu.supervisor.shared_gpus import SharedGpus
from worker.launch.gpu import gpu_consumer
from worker.launch.gpu.gpu_consumer import GpuConsumer, GpuShare
from worker.launch.gpu.gpu_run import GpuContext
from worker.launch.launch_children import Children
from worker.launch.reference_cache import ReferenceCache

FAKE = {"ordinal": 0, "target": "cuda:90", "model": "Fake"}
LANE = device_lane(FAKE["target"], FAKE["model"])


@pytest.fixture(autouse=True)
def bare_launches(monkeypatch):
    """Run a launch with its launcher alone; its record is how that ended."""

    async def do_launch(attempt, desk):
        metadata = {"name": attempt.job.entry, "num_warps": 4, "shared": 0}
        abi = abi_of(Target("cuda", 90, 32), [], metadata)
        job = LauncherOrder(b"", abi, (1, 1, 1), [], {})
        gpu = desk.gpu
        outcome = await gpu.launchers.run(gpu.ordinal, job, caller="ada", deadline_s=10)
        record = outcome.ending.value.encode()
        await attempt.finish(record, reusable=True, keep_s=60)

    monkeypatch.setattr(gpu_consumer, "do_launch", do_launch)
    monkeypatch.setattr(gpu_consumer, "LAUNCH", kind_of_entries("launch"))


@contextlib.asynccontextmanager
async def consumer(name, redis, blocking, **environment):
    command = LauncherCommand(bootstrap=BOOTSTRAP, environment=environment)
    launchers = Launchers([0], command)
    await launchers.start()
    context = SimpleNamespace(
        queue=Queue(redis, blocking, 5.0),
        children=Children(None),
        compiling=SimpleNamespace(blobs=None),
        expected=None,
        prove_launch=None,
        memory=SimpleNamespace(references=ReferenceCache(0)),
        gpus=SharedGpus(1 << 20),
    )
    desk = GpuContext(launchers, 0, JobClient(JobProducer(redis), None), None)
    share = GpuShare(BytesInFlight(1 << 20), FairQueue(2))
    running = asyncio.create_task(GpuConsumer(name, FAKE, desk, context, share).run())
    try:
        yield running
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await launchers.close()


async def test_launches_of_a_cordoned_gpu_are_done_by_another(redis, blocking, tmp_path):
    sick = tmp_path / "sick"
    sick.touch()
    entries = ("fault", "good", "good", "good", "good", "good")
    async with consumer("sick", redis, blocking, **{SICK: str(sick)}) as running:
        await submit(redis, LANE, *entries)
        async with asyncio.timeout(20):
            await running  # it has stopped by itself
        assert await Workers(redis).list() == []
        async with consumer("well", redis, blocking):
            assert await results(redis, *entries) == [b"fault", *[b"ok"] * 5]


async def test_a_gpu_consumer_says_which_walls_its_launchers_lack(redis, blocking):
    async with consumer("well", redis, blocking):
        found = await comes_true(Workers(redis).list)

    assert found[0].device == "cuda:90 Fake"
    assert found[0].sandbox_report["layers"] == ["none"]
    assert "landlock" in found[0].sandbox_report["missing"]
