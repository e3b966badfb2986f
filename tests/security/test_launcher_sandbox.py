"""The sandbox of GPU launchers, tested without a GPU."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.security.launcher_attempts import REFUSED, attempts
from worker.gpu.launcher.launcher_sandbox import LAYERS
from worker.gpu.supervisor.launcher_process import LauncherCommand


@pytest.fixture(scope="module")
def inside():
    """Return what a process in the sandbox could reach."""
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-s", "-P", "-c", attempts(), root],
        capture_output=True,
        text=True,
        timeout=60,
        env=LauncherCommand().environ(),
        cwd="/",
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_attempt_to_get_out_of_a_launcher_is_refused(inside):
    assert set(inside["got"].values()) <= REFUSED, inside["got"]


def test_all_layers_of_a_launcher_hold_here(inside):
    may_lack = set() if os.geteuid() == 0 else {"namespaces"}

    assert set(LAYERS) - set(inside["layers"]) <= may_lack


def test_a_launcher_can_share_an_output_with_its_worker(inside):
    assert inside["sent"] == [8 << 20, 7]
