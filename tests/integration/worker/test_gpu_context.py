"""What a launch has compiled for it goes on as long as the launch wants it, whoever withdraws."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from store import keys
from store.compilations import Compilations
from store.jobs.producer import JobProducer
from store.jobs.types import Cancellation
from store.jobs.waiting import ResultWaiter
from tests.waiting import comes_true
from worker.launch.gpu.compiled_kernels import CompiledKernels
from worker.launch.gpu.gpu_run import GpuContext
from worker.launch.run import Deadline

JOB = SimpleNamespace(key="f" * 64, toolchain_id="t", timeout_s=60.0, model_dump_json=lambda: "{}")
LAUNCH = SimpleNamespace(id="launch-1", caller="alice")
REQUEST = SimpleNamespace(deadline_s=30.0, priority="interactive")


async def test_a_launch_waits_for_its_kernel_with_an_interest_of_its_own(redis, blocking):
    jobs = JobProducer(redis)
    nothing = cast("Any", None)
    kernels = CompiledKernels(Compilations(redis), nothing, blocking)
    gpu = GpuContext(nothing, 0, jobs, ResultWaiter(redis, blocking), kernels)
    compiling = asyncio.create_task(
        gpu.kernel_of(cast("Any", JOB), cast("Any", LAUNCH), cast("Any", REQUEST), Deadline(30))
    )
    await comes_true(lambda: jobs.state(JOB.key))

    assert await jobs.cancel(JOB.key, "alice", b"cancelled") == Cancellation.WITHDRAWN
    assert await redis.hget(keys.JOB + JOB.key, "timeout_ms") == b"60000"
    compiling.cancel()
