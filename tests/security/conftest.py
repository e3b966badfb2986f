"""One pool for all attacks: what one of them breaks, the next would notice."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest
import pytest_asyncio

from worker.nursery import Toolchain
from worker.outcome import Ending
from worker.pool import Pool

ROOT = Path(__file__).parents[2]
CANARY = "CANARY-9f2c71"
"""A secret in the environment of the worker; no child may ever see it."""


def toolchain(tasks_module="tests.security.hostile", **changes):
    return Toolchain(Path(sys.executable), ROOT, tasks_module, **changes)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def pool():
    os.environ["TRITOND_TEST_SECRET"] = CANARY
    pool = Pool(toolchain(), spares={"front": 1, "back": 1})
    await pool.start()
    yield pool
    await pool.close()
    del os.environ["TRITOND_TEST_SECRET"]


@pytest_asyncio.fixture(loop_scope="session")
async def attack(pool):
    """Return a function that runs hostile source in a child; afterwards the next job must be fine."""
    profiles = set()

    async def run(source, profile="front", deadline_s=10.0, **header):
        profiles.add(profile)
        job = {"task": "execute", **header}
        return await pool.run(profile, job, source.encode(), deadline_s=deadline_s)

    yield run
    for profile in profiles:
        after = await pool.run(profile, {"task": "empty"}, b"", deadline_s=10)
        assert after.ending is Ending.OK


@pytest.fixture(scope="session")
def ptxas():
    """Return the path of the assembler that a back child may start."""
    triton = Path(importlib.util.find_spec("triton").origin).parent
    return str(triton / "backends/nvidia/bin/ptxas")
