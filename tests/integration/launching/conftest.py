"""One pool of launch children for all tests."""

import sys
from pathlib import Path

import pytest_asyncio

from compiler.launching.environment import ENVIRONMENT
from worker.nursery import Toolchain
from worker.pool import Pool
from worker.sandbox.limits import Limits

ROOT = Path(__file__).parents[3]
LIMITS = {
    "front": Limits(memory_bytes=4 << 30, cpu_s=120, file_bytes=0, open_files=32),
    "cut": Limits(memory_bytes=4 << 30, cpu_s=60, file_bytes=0, open_files=32),
}


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def pool():
    toolchain = Toolchain(
        Path(sys.executable),
        ROOT,
        "compiler.launching.tasks",
        limits=LIMITS,
        environment=ENVIRONMENT,
    )
    pool = Pool(toolchain, spares={"front": 2, "cut": 1})
    await pool.start()
    yield pool
    await pool.close()
