"""One pool for all attacks, so that damage by one shows in the next.

Everything runs with namespaces around the zygote if this machine permits them. The self test
runs without them as well, as in a container; `make test-slow` runs the other tests so.
"""

import importlib.util
import os
import sys
from pathlib import Path

import pytest
import pytest_asyncio

from worker.pool.child_outcome import Ending
from worker.pool.pool import Pool
from worker.pool.zygote_client import ZygoteToolchain

ROOT = Path(__file__).parents[2]
CANARY = "CANARY-9f2c71"
"""A secret in the environment of the worker; no child may ever see it."""


WITHOUT_NAMESPACES = """#!{python}
import ctypes, os, sys
PR_CAPBSET_DROP, CAP_SYS_ADMIN = 24, 21
ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0)
os.execv({python!r}, [{python!r}, *sys.argv[1:]])
"""


def pytest_collection_modifyitems(items):
    for item in items:
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        if parameters.get("python") == "container" and item.path.name != "test_self_test.py":
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session", params=["namespaces", "container"])
def python(request, tmp_path_factory):
    """Return the interpreter that zygotes are started with."""
    if request.param == "namespaces":
        return Path(sys.executable)
    if os.geteuid() != 0:
        pytest.skip("an ordinary user always may make user namespaces, or never")
    script = tmp_path_factory.mktemp("container") / "python"
    script.write_text(WITHOUT_NAMESPACES.format(python=sys.executable))
    script.chmod(0o755)
    return script


@pytest.fixture(scope="session")
def toolchain(python):
    """Return a function that makes a toolchain of a tasks module."""

    def make(tasks_module="tests.security.hostile", **changes):
        return ZygoteToolchain(python, ROOT, tasks_module, **changes)

    return make


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def pool(toolchain):
    os.environ["TRITOND_TEST_SECRET"] = CANARY
    pool = Pool(toolchain(), spares={"front": 1, "back": 1})
    await pool.start()
    yield pool
    await pool.close()
    del os.environ["TRITOND_TEST_SECRET"]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def compiler():
    """Yield a pool whose children compile, with the environment of an ordinary worker."""
    pool = Pool(ZygoteToolchain(Path(sys.executable), ROOT))
    await pool.start()
    yield pool
    await pool.close()


@pytest_asyncio.fixture(loop_scope="session")
async def attack(pool):
    """Return a function that runs hostile source; the next job must then succeed."""
    profiles = set()

    async def run(source, profile="front", deadline_s=60.0, stages=(), **header):
        profiles.add(profile)
        job = {"task": "execute", **header}
        return await pool.run(profile, job, source.encode(), deadline_s=deadline_s, stages=stages)

    yield run
    for profile in profiles:
        after = await pool.run(profile, {"task": "empty"}, b"", deadline_s=60)
        assert after.ending is Ending.OK


@pytest.fixture(scope="session")
def ptxas():
    """Return the path of the assembler that a back child may start."""
    triton = Path(importlib.util.find_spec("triton").origin).parent
    return str(triton / "backends/nvidia/bin/ptxas")
