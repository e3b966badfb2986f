"""After an upgrade, a single-machine deployment compiles with its own worker's toolchain."""

import pytest

from jobs.features import SHARED_LANES
from service.toolchains import reconcile_default
from store.jobs.types import (
    Priority,
    device_lane,
    lanes_of,
    program_device_lane,
    torch_lane,
)
from store.workers import Toolchains, Worker, Workers

DESCRIPTION = (
    b'{"id": "%s", "triton": "%s", "ptxas": "", "host_arch": "", "targets": [], "options": {},'
    b' "sandbox": "standard"}'
)
ON_THE_GPU = device_lane("cuda:90", "H100")
LANES = [
    *lanes_of("old", program_devices=[]),
    program_device_lane("old", "cuda:90", "H100"),
    ON_THE_GPU,
    torch_lane(ON_THE_GPU),
    *SHARED_LANES,
]


@pytest.fixture
def workers(redis):
    return Workers(redis)


@pytest.fixture
def toolchains(redis):
    return Toolchains(redis)


async def offered(toolchains, name, triton):
    await toolchains.register(name, DESCRIPTION % (name.encode(), triton.encode()))


async def living(workers, *names):
    await workers.beat(
        Worker("one", "compile", names[0], None, "standard", 2, 0, toolchains=[*names])
    )


async def test_a_default_that_only_an_older_installation_had_is_followed_by_a_living_one(
    workers, toolchains, jobs
):
    await offered(toolchains, "old", "3.9.0")
    await offered(toolchains, "another", "3.6.0")
    await offered(toolchains, "new", "3.10.0")
    await living(workers, "another", "new")

    assert await reconcile_default(workers, toolchains, jobs) == [
        "the default toolchain is now new (Triton 3.10.0)",
    ]
    assert await toolchains.default() == "new"
    assert await reconcile_default(workers, toolchains, jobs) == [
        "toolchain old (Triton 3.9.0) is not offered any more",
    ]
    assert list(await toolchains.list()) == ["another", "new"]


async def test_a_default_that_is_offered_stays_though_another_is_newer(workers, toolchains, jobs):
    await offered(toolchains, "mine", "3.6.0")
    await offered(toolchains, "new", "3.9.0")
    await living(workers, "new", "mine")

    assert await reconcile_default(workers, toolchains, jobs) == []
    assert await toolchains.default() == "mine"


async def test_without_a_living_worker_nothing_changes(workers, toolchains, jobs):
    await offered(toolchains, "old", "3.9.0")

    assert await reconcile_default(workers, toolchains, jobs) == []
    assert await toolchains.default() == "old"


async def test_the_default_of_before_is_known_while_services_may_queue_for_it(
    workers, toolchains, jobs
):
    await offered(toolchains, "old", "3.9.0")
    await offered(toolchains, "new", "3.9.0")
    await living(workers, "new")

    await reconcile_default(workers, toolchains, jobs)
    assert set(await toolchains.list()) == {"old", "new"}


async def queued(jobs, lane):
    await jobs.submit(
        "vector-add", lane=lane, priority=Priority.BATCH, payload=b"{}",
        caller="alice", deadline_ms=60_000,
    )  # fmt: skip


@pytest.fixture
async def upgraded(workers, toolchains, jobs):
    """Return an upgraded worker with a GPU, whose toolchain is the default now."""
    await offered(toolchains, "old", "3.9.0")
    gpu = Worker("gpu", "launch", None, "cuda:90 H100", "launcher", 1, 0, programs=["old"])
    await workers.beat(gpu)
    await offered(toolchains, "new", "3.9.0")
    await living(workers, "new")
    [change] = await reconcile_default(workers, toolchains, jobs)
    assert change == "the default toolchain is now new (Triton 3.9.0)"


@pytest.mark.usefixtures("upgraded")
@pytest.mark.parametrize("lane", LANES)
async def test_what_jobs_wait_for_is_known_until_they_are_done(workers, toolchains, jobs, lane):
    await queued(jobs, lane)

    assert await reconcile_default(workers, toolchains, jobs) == []
    await jobs.cancel("vector-add", "alice", b"{}")
    [change] = await reconcile_default(workers, toolchains, jobs)
    assert change == "toolchain old (Triton 3.9.0) is not offered any more"


@pytest.mark.usefixtures("upgraded")
@pytest.mark.parametrize("lane", LANES)
async def test_what_jobs_run_with_is_known_until_they_are_done(
    workers, toolchains, jobs, worker, lane
):
    """A killed worker's jobs return when their lease ends, and a sweep keeps posting."""
    await queued(jobs, lane)
    attempts = worker()
    claim = await attempts.claim([lane])

    assert await reconcile_default(workers, toolchains, jobs) == []
    await attempts.finish(claim.id, claim.token, b"{}", reusable=True, keep_s=60)
    [change] = await reconcile_default(workers, toolchains, jobs)
    assert change == "toolchain old (Triton 3.9.0) is not offered any more"
