"""A launch's compilation continues while any launch waits for it, and no longer."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from compiler.compilation import Compilation
from compiler.job import CompileJob
from jobs.deadline import Deadline, DeadlinePassed
from jobs.submission import JobClient
from launch.request.launch_job import compile_job_of_launch
from store import keys
from store.blobs import Blobs
from store.compilations import Compilations
from store.errors import StoreUnavailable
from store.jobs.producer import JobProducer
from store.jobs.types import Cancellation, Priority
from store.jobs.waiting import ResultWaiter
from tests.waiting import comes_true
from worker.launch.gpu.compiled_kernels import CompiledKernels
from worker.launch.gpu.gpu_run import GpuContext

JOB = CompileJob(
    key="f" * 64, namespace="", source="...", files={}, kernel="k", specialization_json={},
    options={}, target_name="cuda:90", stop_after="cubin", toolchain_id="t", timeout_s=60.0,
)  # fmt: skip


@pytest.fixture
def jobs(redis):
    return JobProducer(redis)


@pytest.fixture
def wait(redis, blocking, jobs):
    """Return a task in which a launch waits for its kernel."""
    nothing = cast("Any", None)
    kernels = CompiledKernels(Compilations(Blobs(redis)), nothing, blocking)
    gpu = GpuContext(nothing, 0, JobClient(jobs, ResultWaiter(redis, blocking)), kernels)

    def wait(launch_id="launch-1", caller="alice", deadline_s=30.0, job=JOB):
        launch = SimpleNamespace(id=launch_id, caller=caller, priority="interactive")
        deadline = Deadline(deadline_s)
        return asyncio.create_task(gpu.kernel_of(job, cast("Any", launch), deadline))

    return wait


async def interests(redis, count):
    await comes_true(lambda: has_interests(redis, count))


async def has_interests(redis, count):
    return len(await redis.hkeys(keys.INTERESTS + JOB.key)) == count


async def cancelled(task):
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_launch_waits_for_its_kernel_with_a_separate_interest(redis, jobs, wait):
    waiting = wait()
    await interests(redis, 1)

    assert await jobs.cancel(JOB.key, "alice", b"cancelled") == Cancellation.WITHDRAWN
    assert await redis.hget(keys.JOB + JOB.key, "timeout_ms") == b"60000"
    await cancelled(waiting)


async def test_a_launch_s_timeout_bounds_its_compilation(redis, wait):
    waiting = wait(job=compile_job_of_launch(JOB, timeout_s=8.0))
    await interests(redis, 1)

    assert await redis.hget(keys.JOB + JOB.key, "timeout_ms") == b"8000"
    await cancelled(waiting)


async def test_a_launch_that_is_cancelled_wants_its_kernel_no_more(redis, jobs, wait):
    waiting = wait()
    await interests(redis, 1)
    await cancelled(waiting)

    assert await jobs.state(JOB.key) is None
    result = await jobs.result(JOB.key)
    compilation = Compilation.model_validate_json(result.record)
    assert (compilation.state, compilation.problem.slug) == ("cancelled", "cancelled")
    assert not result.reusable


async def test_nor_does_one_whose_time_is_over(jobs, wait):
    with pytest.raises(DeadlinePassed):
        await wait(deadline_s=0.2)

    assert await jobs.state(JOB.key) is None


@pytest.mark.parametrize(
    "other", [("launch-2", "bob"), ("launch-2", "alice"), ("launch-1", "alice")]
)
async def test_what_another_launch_waits_for_goes_on(redis, jobs, wait, other):
    """Or another case of the same launch."""
    first, second = wait(), wait(*other)
    await interests(redis, 2)
    await cancelled(first)
    assert await jobs.state(JOB.key) is not None

    await cancelled(second)
    assert await jobs.state(JOB.key) is None


async def test_what_its_caller_posted_goes_on(redis, jobs, wait):
    await jobs.submit(
        JOB.key, lane="compile:t", priority=Priority.INTERACTIVE, payload=b"{}", caller="alice",
        deadline_ms=60_000,
    )  # fmt: skip
    waiting = wait()
    await interests(redis, 2)
    await cancelled(waiting)

    assert await jobs.state(JOB.key) is not None


async def test_a_store_that_is_away_then_hides_no_cancellation(
    redis, jobs, wait, monkeypatch, caplog
):
    async def away(*_):
        raise StoreUnavailable("The store is not available.")

    waiting = wait()
    await interests(redis, 1)
    monkeypatch.setattr(jobs, "withdraw", away)
    await cancelled(waiting)

    assert waiting.cancelled()
    assert "interest" in caplog.text
