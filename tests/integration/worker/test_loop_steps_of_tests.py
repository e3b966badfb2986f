"""A session of tests fails where a step of an event loop took long, in whatever process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.service.running import Deployment
from tests.waiting import wait_until

ROOT = Path(__file__).parents[3]
BUSY_SLEEP = """
import asyncio
import time

sleep = asyncio.sleep

async def sleep_after_work(seconds, *others):
    if seconds == 0.1:  # what measures the lag of a loop
        began = time.thread_time()
        while time.thread_time() - began < 0.3:
            pass
        asyncio.sleep = sleep
    await sleep(seconds, *others)

asyncio.sleep = sleep_after_work
"""
"""A module `sitecustomize`, which each Python loads first: one step of each loop takes long."""
BUSY_TESTS = """
import asyncio
import time

async def test_busy():
    async def busy():
        await asyncio.sleep(0)
        began = time.thread_time()
        while time.thread_time() - began < {cpu_s}:
            pass
        await asyncio.sleep({wall_s})
    await asyncio.create_task(busy())
"""


def session(folder: Path, cpu_s: float, wall_s: float) -> subprocess.CompletedProcess[str]:
    """Run one test whose task works and sleeps, below the conftest of all tests."""
    (folder / "conftest.py").write_text(
        "from tests.loop_steps import measure_loops\n"
        "def pytest_configure(config):\n    measure_loops(config)\n"
    )
    (folder / "test_busy.py").write_text(BUSY_TESTS.format(cpu_s=cpu_s, wall_s=wall_s))
    (folder / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\n")
    others = {n: v for n, v in os.environ.items() if n != "TRITOND_SLOW_STEPS"}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(folder)]
    return subprocess.run(
        command, cwd=folder, env=others | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )


def test_a_session_of_tests_fails_for_one_slow_step_and_names_its_task_and_test(tmp_path):
    ended = session(tmp_path, cpu_s=0.3, wall_s=0)

    assert ended.returncode == 1, ended.stdout
    assert "1 passed" in ended.stdout
    assert "test_busy.<locals>.busy" in ended.stdout
    assert "during test_busy.py::test_busy (call)" in ended.stdout


def test_a_session_of_tests_passes_where_steps_only_wait(tmp_path):
    ended = session(tmp_path, cpu_s=0.05, wall_s=0.4)

    assert ended.returncode == 0, ended.stdout


@pytest.mark.slow
def test_a_service_and_a_worker_record_their_slow_steps(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(BUSY_SLEEP)
    folder = tmp_path / "steps"
    folder.mkdir()
    deployment = Deployment(tmp_path, PYTHONPATH=str(tmp_path), TRITOND_SLOW_STEPS=str(folder))
    deployment.start_store()
    try:
        deployment.start_service()
        deployment.start_worker()
        deployment.wait_for_workers()
        wait_until(lambda: len(list(folder.iterdir())) == 2, "both have recorded a step")
    finally:
        deployment.stop()

    texts = [file.read_text() for file in folder.iterdir()]
    records = [json.loads(line) for text in texts for line in text.splitlines()]
    slow = [one for one in records if "measure_lag" in one["step"]]
    assert sorted(Path(one["process"][1]).parent.name for one in slow) == ["service", "worker"]
    assert all(one["cpu_s"] >= 0.3 for one in slow)
