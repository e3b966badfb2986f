"""One pool of launch children for all tests of a folder."""

import sys
from pathlib import Path

import pytest_asyncio

from worker.launch.launch_children import ENVIRONMENT
from worker.pool.pool import Pool
from worker.pool.zygote_client import ZygoteToolchain
from worker.sandbox.rlimits import ResourceLimits

ROOT = Path(__file__).parents[3]
LIMITS = {
    "front": ResourceLimits(memory_bytes=4 << 30, cpu_s=120, file_bytes=0, open_files=32),
    "parse": ResourceLimits(memory_bytes=4 << 30, cpu_s=60, file_bytes=0, open_files=32),
    "back": ResourceLimits(memory_bytes=4 << 30, cpu_s=120, file_bytes=1 << 28, open_files=64),
}


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def pool():
    toolchain = ZygoteToolchain(
        Path(sys.executable),
        ROOT,
        "launch.launch_tasks",
        limits=LIMITS,
        environment=ENVIRONMENT,
    )
    pool = Pool(toolchain, spares={"front": 1, "parse": 1, "back": 1})
    await pool.start()
    yield pool
    await pool.close()
