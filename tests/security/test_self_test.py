"""The workers' self-test confirms the sandbox, as root and as any other user."""

import json
import os
import shutil
import subprocess

import pytest

from tests.security.conftest import ROOT
from worker.pool.sandbox_report import self_test


@pytest.mark.asyncio(loop_scope="session")
async def test_all_attempts_are_refused(pool):
    report = (await self_test(pool)).to_dict()
    assert report["self_test"]["failed"] == []
    assert report["self_test"]["passed"] >= 50
    assert report["level"] == ("strict" if report["layers"]["pid_ns"] else "standard")
    assert report["layers"]["seccomp"] is True
    assert report["layers"]["landlock_abi"] >= 1
    assert len(report["policy"]) == 64


UNPRIVILEGED = """
import asyncio, json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from worker.pool.zygote_client import ZygoteToolchain
from worker.pool.pool import Pool
from worker.pool.sandbox_report import self_test

async def main():
    pool = Pool(ZygoteToolchain(Path(sys.executable), Path(sys.argv[1]), "tests.security.hostile"))
    await pool.start()
    print(json.dumps((await self_test(pool)).to_dict()))
    await pool.close()

asyncio.run(main())
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests already run as an ordinary user")
def test_all_attempts_are_refused_without_privileges():
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    if python is None:
        pytest.skip("no Python that other users can read")
    version = [python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
    if subprocess.run(version).returncode != 0:
        pytest.skip("the system's Python is older than 3.11")
    command = [python, "-B", "-c", UNPRIVILEGED, str(ROOT)]
    done = subprocess.run(
        command, user=65534, group=65534, extra_groups=[], capture_output=True, env={}
    )
    report = json.loads(done.stdout or "null")
    assert report, done.stderr.decode()
    assert report["self_test"]["failed"] == []
