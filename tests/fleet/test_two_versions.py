"""An upgrade of a fleet, part by part, while it works: two versions share one store."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from tests.fleet.fleet import RECOVERY_S, SERVICES, START_S, WORKERS, Fleet, Record
from tests.fleet.load import Load
from tests.integration.service.running import ROOT
from tests.waiting import wait_until

OLDER = "d910718face71c2f4156b947caaa1a9f62ba5da8"
"""A commit with the present form of the queue. Once there is a release, it is the last one."""


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """Return a folder with the code of an older version; it runs in this environment."""
    archive = tmp_path / "older.tar"
    git = ["git", "-C", str(ROOT), "archive", "--output", str(archive), OLDER]
    done = subprocess.run(git, check=False, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"git has no commit {OLDER} here (a shallow clone?): {done.stderr.strip()}")
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path / "older", filter="data")
    return tmp_path / "older"


def toolchains(fleet: Fleet) -> list[str]:
    """Return the ids of the toolchains that workers offered, in order."""
    return re.findall(r"\b[0-9a-f]{16}\b", "\n".join(tritond(fleet, "list")))


def tritond(fleet: Fleet, *words: str) -> list[str]:
    """Run a command about toolchains, and return its lines."""
    done = subprocess.run(
        [Path(sys.executable).with_name("tritond"), "toolchain", *words],
        env={"TRITOND_REDIS_URL": fleet.servers.url},
        capture_output=True,
        check=True,
        text=True,
    )
    return done.stdout.splitlines()


@pytest.mark.timeout(900)  # for four starts of workers on a busy machine
def test_services_and_workers_of_two_versions_share_a_store(
    fleet: Fleet, older: Path, record_property: Record
) -> None:
    """All is of the older version, then `worker-1` is new, the services, and the default."""
    for name in (*SERVICES, *WORKERS):
        fleet.end(name)
    before = set(toolchains(fleet))
    for name in (*SERVICES, "worker-2"):
        fleet.start_part(name, older)
    [old] = wait_until(
        lambda: set(toolchains(fleet)) - before, "the older toolchain", fleet.said, START_S
    )
    tritond(fleet, "default", old)
    load = Load(fleet, "versions")
    load.start()

    steps = {}

    def step(name: str) -> None:
        steps[name] = load.recovery_s(time.monotonic())

    fleet.revive("worker-1")
    fleet.replace("service-1")
    step("one service is new")
    [new] = before
    tritond(fleet, "default", new)
    wait_until(lambda: fleet.held("worker-1"), "the new worker has jobs", fleet.said, START_S)
    step("the new toolchain is the default")
    fleet.replace("service-2")
    fleet.end("worker-2")
    tritond(fleet, "forget", old)
    step("nothing is old")
    load.stop()

    record_property("recovery_s", max(steps.values()))
    assert load.wrong == []
    assert all(taken_s < RECOVERY_S for taken_s in steps.values()), steps
