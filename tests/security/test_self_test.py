"""The workers' self-test confirms the sandbox, as root and as any other user."""

import json
import os
import platform
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


IN_A_CONTAINER = """
import ctypes, platform, sys
sys.path.insert(0, sys.argv[1])
from worker.sandbox import bpf, seccomp

# Calls of x86_64 that Docker's default profile refuses without capabilities (moby/profiles at
# cd3bed8, seccomp/default.json); those of Kubernetes' RuntimeDefault derive from it.
REFUSED = [
    103, 134, 136, 139, 153, 155, 156, 161, *range(163, 186), 212, 227, *range(236, 240), 246,
    *range(248, 251), 256, 272, 279, 298, 300, 304, 308, 312, 313, 320, 321, 323,
    *range(425, 434), 438, 440, 442, 443, 450,
]
NAMESPACES = 0x7E020000
bodies = [(number, [bpf.refuse(1)]) for number in REFUSED]
of_clone = [bpf.argument(0), (bpf.ANY_BIT, 0, 1, NAMESPACES), bpf.refuse(1), bpf.PERMIT]
bodies += [(56, of_clone), (435, [bpf.refuse(38)])]
assert platform.machine() == "x86_64"
assert ctypes.CDLL(None).prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
machine = seccomp.machine()
bpf.install(bpf.assemble(bpf.program_of(machine, bodies, bpf.PERMIT)), machine)
"""

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
@pytest.mark.parametrize("around", ["", IN_A_CONTAINER], ids=["alone", "in a container"])
def test_all_attempts_are_refused_without_privileges(around: str):
    if around and platform.machine() != "x86_64":
        pytest.skip("the numbers of the calls are those of x86_64")
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    if python is None:
        pytest.skip("no Python that other users can read")
    version = [python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
    if subprocess.run(version).returncode != 0:
        pytest.skip("the system's Python is older than 3.11")
    command = [python, "-B", "-c", around + UNPRIVILEGED, str(ROOT)]
    done = subprocess.run(
        command, user=65534, group=65534, extra_groups=[], capture_output=True, env={}
    )
    report = json.loads(done.stdout or "null")
    assert report, done.stderr.decode()
    assert report["self_test"]["failed"] == []
    assert not (around and report["layers"]["pid_ns"])
