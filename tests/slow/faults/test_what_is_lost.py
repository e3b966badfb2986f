"""A worker or the store may be lost at any moment, but not the data folder."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.service import bodies
from tests.integration.service.running import ROOT, Deployment, Process, ended
from tests.sweeps.service.test_sweeps import post_sweep
from tests.waiting import wait_until
from worker.code_digest import PACKAGES

Started = Callable[[dict[str, Any]], str]


@pytest.fixture
def client(machine: Deployment) -> Iterator[httpx.Client]:
    with machine.client() as client:
        yield client


@pytest.fixture
def started(client: httpx.Client) -> Started:
    """Post a slow compilation and return its URL once a worker runs it."""

    def started(body: dict[str, Any]) -> str:
        url: str = client.post("/v1/compilations", json=body).json()["url"]
        wait_until(lambda: client.get(url).json()["state"] == "running", "it runs")
        return url

    return started


def test_a_sweep_whose_driver_is_killed_goes_on_with_the_rows_it_has(
    machine: Deployment, worker: Process, client: httpx.Client
) -> None:
    base = bodies.slow(1, "its driver is killed")
    base |= {"source": base["source"].replace("= SIZE", "")}
    url = post_sweep(
        client, wait=0, base=base, space={"constexprs.BLOCK": [2**n for n in range(10)]}
    ).json()["url"]
    wait_until(lambda: client.get(url).json()["counts"].get("succeeded"), "a first row")
    before = client.get(url).json()["rows"]

    os.kill(worker.pid, signal.SIGKILL)
    machine.start_worker()
    after = ended(client, url)

    assert (after["state"], after["counts"]) == ("completed", {"succeeded": 10})
    kept = [row for row in before if row["state"] == "succeeded"]
    assert kept
    assert kept == [after["rows"][row["index"]] for row in kept]


def test_the_job_of_a_killed_worker_is_done_by_another(
    machine: Deployment, worker: Process, client: httpx.Client, started: Started
) -> None:
    url = started(bodies.slow(2, "its worker is killed"))

    worker.kill()
    machine.start_worker()

    assert ended(client, url)["state"] == "succeeded"
    assert client.get(f"{url}/events").text.count("event: started") == 2


def test_the_cache_outlives_a_restart_of_everything(machine: Deployment, worker: Process) -> None:
    with machine.client() as client:
        made = client.post("/v1/compilations?wait=60", json=bodies.vector_add("kept")).json()
        ptx = client.get(made["artifacts"]["ptx"]["url"]).text

    machine.stop()
    machine.start_store()
    machine.start_service()

    with machine.client() as client:
        again = client.post("/v1/compilations", json=bodies.vector_add("kept")).json()
        assert again == made | {"cache": "hit"}, "a hit needs no worker"
        assert client.get(again["artifacts"]["ptx"]["url"]).text == ptx


def test_without_its_store_the_service_says_so_and_recovers(
    machine: Deployment, worker: Process, client: httpx.Client
) -> None:
    machine.stop_store()
    refused = client.post("/v1/compilations?wait=5", json=bodies.vector_add("store down"))
    alive, ready = client.get("/healthz"), client.get("/readyz")
    machine.start_store()
    wait_until(lambda: client.get("/readyz").is_success, "the service finds its store again")
    made = client.post("/v1/compilations?wait=60", json=bodies.vector_add("store up")).json()

    assert (refused.status_code, refused.json()["slug"]) == (503, "store_unavailable")
    assert int(refused.headers["retry-after"]) > 0
    assert (alive.status_code, ready.status_code) == (200, 503)
    assert made["state"] == "succeeded"
    assert worker.still_runs()


@pytest.fixture
def edited(tmp_path: Path) -> Path:
    """Return the same code with another comment, which makes it another toolchain."""
    for package in PACKAGES:
        leave = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, tmp_path / package, ignore=leave)
    with (tmp_path / "compiler/parameter_binding.py").open("a") as file:
        file.write("# edited\n")
    return tmp_path


def test_what_waits_for_a_worker_whose_code_is_replaced_is_done_by_the_new_one(
    machine: Deployment, worker: Process, client: httpx.Client, edited: Path
) -> None:
    before = client.post("/v1/compilations?wait=60", json=bodies.vector_add("replaced")).json()
    worker.stop()
    requests = [bodies.vector_add(f"replaced {number}") for number in range(3)]
    batch = client.post("/v1/batches", json={"kind": "compilations", "requests": requests}).json()

    newer = machine.start_worker(root=edited)
    done = ended(client, batch["url"])
    after = client.post("/v1/compilations?wait=60", json=bodies.vector_add("after it")).json()

    assert done["counts"]["succeeded"] == len(requests)
    assert after["state"] == "succeeded"
    assert after["toolchain"]["id"] != before["toolchain"]["id"]
    for item in done["items"]:
        assert item["result"]["toolchain"] == after["toolchain"], "which it says itself"
        assert client.get(item["result"]["url"]).json()["key"] == item["result"]["key"]
        assert item["result"]["url"] != item["url"]
    newer.stop()
