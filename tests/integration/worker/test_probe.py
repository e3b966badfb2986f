"""`python -m worker.probe`, for supervisors: does the store know a worker of this machine?"""

import os
import subprocess
import sys

from store.workers import Worker, Workers
from worker.settings import new_name


def probe(redis_url: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "worker.probe"]
    environment = os.environ | {"TRITOND_REDIS_URL": redis_url}
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def worker(name: str) -> Worker:
    return Worker(name, "compile", "triton-3.9.0", None, "standard", 2, 0)


async def test_a_machine_whose_worker_lives_is_ready(redis, valkey):
    await Workers(redis).beat(worker(new_name()))
    assert probe(valkey.url).returncode == 0


async def test_workers_of_other_machines_do_not_count(redis, valkey):
    await Workers(redis).beat(worker(f"another-{new_name()}"))
    found = probe(valkey.url)
    assert (found.returncode, found.stderr) == (
        1,
        "The store knows no live worker of this machine.\n",
    )


def test_without_its_store_it_is_not_ready():
    found = probe("redis://127.0.0.1:1/0")
    assert found.returncode == 1
    assert "The store is not available" in found.stderr
