"""A launcher's sandbox, tested from inside: each attempt must fail."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gpu.bound import vector_add, vector_add_expected
from tests.gpu.conftest import a_command
from tests.security.launcher_attempts import REFUSED, attempts
from worker.gpu.launcher.launcher_sandbox import LAYERS
from worker.gpu.supervisor.launchers import Launchers

OPEN_A_GPU = """
from worker.gpu.launcher.launcher_context import LauncherContext
from worker.gpu.launcher.device import open_device
bench = LauncherContext(open_device(0))
bench.warm_up()
"""


@pytest.fixture(scope="module")
def inside():
    """Return everything that a process in a launcher's sandbox could reach."""
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-s", "-P", "-c", attempts(OPEN_A_GPU), root],
        capture_output=True,
        text=True,
        timeout=60,
        env=a_command().environ(),
        cwd="/",
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_attempt_from_inside_is_refused(inside, figure):
    figure(f"{inside['got']}")

    assert set(inside["got"].values()) <= REFUSED, inside["got"]


def test_all_layers_hold_here(inside, figure):
    figure(", ".join(inside["layers"]))
    may_lack = set() if os.geteuid() == 0 else {"namespaces"}

    assert set(LAYERS) - set(inside["layers"]) <= may_lack


def test_a_launcher_says_which_layers_hold_and_launches_behind_them(inside):
    async def launched():
        launchers = Launchers([0], a_command())
        await launchers.start()
        try:
            outcome = await launchers.run(0, vector_add(), caller="ada", deadline_s=30)
            return launchers.devices[0].facts.sandbox, outcome
        finally:
            await launchers.close()

    layers, outcome = asyncio.run(launched())

    assert set(layers) == set(inside["layers"])
    assert bytes(outcome.outputs["output_ptr"]) == vector_add_expected().tobytes()
