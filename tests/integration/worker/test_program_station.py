"""A GPU's station of programs with the real store and fake launchers, which do what a tape says.

What else becomes of a program is left out: its record is how its launcher ended.
"""

import asyncio
import contextlib
from types import SimpleNamespace

from store.jobs.types import program_device_lane
from tests.integration.worker.fake_launcher import BOOTSTRAP, SICK
from tests.integration.worker.launchers import program
from tests.integration.worker.station_jobs import results, submit
from tests.waiting import comes_true
from worker.gpu.supervisor.launchers import LauncherCommand, Launchers
from worker.gpu.supervisor.shared_gpus import SharedGpus
from worker.programs.gpu.gpu_replay import ProgramGpu
from worker.programs.gpu.program_station import ProgramStation, ProgramStationContext, offer

TOOLCHAIN = "station-triton"
LANE = program_device_lane(TOOLCHAIN, "cuda:90", "Fake")


async def replay_alone(claim, attempts, gpu):
    order = program(claim.payload.decode())
    outcome = await gpu.launchers.replay(gpu.ordinal, order, caller="ada", deadline_s=20)
    record = outcome.ending.value.encode()
    await attempts.finish(claim.id, claim.token, record, reusable=True, keep_s=60)


@contextlib.asynccontextmanager
async def station(name, redis, blocking, gpus=None, **environment):
    """Run a station on a GPU of its own; yield its task."""
    command = LauncherCommand(bootstrap=BOOTSTRAP, environment=environment)
    launchers = Launchers([0], command, programs=command)
    await launchers.start()
    toolchain = SimpleNamespace(id=TOOLCHAIN, triton="3.9.0")
    compiling = SimpleNamespace(toolchain=toolchain)
    context = ProgramStationContext(redis, blocking, compiling, replay_alone, 4, 5.0)
    gpus = gpus or SharedGpus(1 << 20)
    there = ProgramStation(name, ProgramGpu(launchers, 0, gpus.in_flight), "Fake", context)
    running = asyncio.create_task(offer(there, gpus, TOOLCHAIN))
    try:
        yield running
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await launchers.close()


async def test_programs_of_a_gpu_are_done_one_after_the_other(redis, blocking):
    entries = ("good", "fault", "good", "crash", "good")
    async with station("well", redis, blocking):
        await submit(redis, LANE, *entries)

        assert await results(redis, *entries) == [b"ok", b"fault", b"ok", b"signal", b"ok"]


async def test_programs_of_a_drained_gpu_are_done_by_another(redis, blocking, tmp_path):
    sick = tmp_path / "sick"
    sick.touch()
    entries = ("fault", "good", "good", "good")
    async with station("sick", redis, blocking, **{SICK: str(sick)}) as running:
        await submit(redis, LANE, *entries)
        async with asyncio.timeout(20):
            await running  # it has stopped by itself
        async with station("well", redis, blocking):
            assert await results(redis, *entries) == [b"fault", *[b"ok"] * 3]


async def test_programs_are_offered_as_long_as_their_station_runs(redis, blocking):
    gpus = SharedGpus(1 << 20)
    async with station("well", redis, blocking, gpus):
        assert await comes_true(lambda: gpus.programs_of(0)) == [TOOLCHAIN]

    assert gpus.programs_of(0) == []
