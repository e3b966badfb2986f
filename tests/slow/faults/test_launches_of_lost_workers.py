"""Launches of a worker that dies, stops or is busy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.integration.service.launches import bodies
from tests.integration.service.running import Deployment, Process, ended
from tests.waiting import wait_until

PATH = "/v1/launches"


@pytest.fixture(autouse=True)
def no_traceback(machine: Deployment, worker: Process) -> Iterator[None]:
    before = machine.said().count("Traceback")
    yield
    assert machine.said().count("Traceback") == before, machine.said()


def busy_for(cpu_s: float, why: str) -> dict[str, Any]:
    """Return a launch that takes this much CPU time; `why` keeps it out of all caches."""
    return bodies.loading(
        f"import time\nend = time.process_time() + {cpu_s}\n"
        f"while time.process_time() < end:\n    pass  # {why}"
    )


def running(client: httpx.Client, body: dict[str, Any]) -> str:
    """Post a launch; return its URL once a worker runs it."""
    posted = client.post(PATH, json=body)
    assert posted.status_code == 202, posted.text
    url: str = posted.json()["url"]
    wait_until(lambda: client.get(url).json()["state"] == "running", "it runs")
    return url


def test_the_launch_of_a_killed_worker_is_done_by_another(machine: Deployment) -> None:
    with machine.client() as client:
        url = running(client, busy_for(1, "its worker is killed"))

        machine.workers.pop().kill()
        machine.start_worker()
        answer = ended(client, url)
        reported = client.get(f"{url}/events").text

    assert (answer["state"], answer["verdict"]) == ("completed", "not_checked")
    assert '"attempt":2' in reported.replace(" ", "")


def test_a_worker_that_stops_gives_its_launch_back(machine: Deployment) -> None:
    with machine.client() as client:
        url = running(client, busy_for(1, "its worker stops"))

        assert machine.workers.pop().stop() == 0
        machine.start_worker()
        answer = ended(client, url)

    assert (answer["state"], answer["verdict"]) == ("completed", "not_checked")


def test_a_launch_that_no_worker_takes_in_time_has_failed(machine: Deployment) -> None:
    body = bodies.loading("while True:\n    pass", timeout_s=60)
    with machine.client() as client:
        machine.wait_for_workers()
        busy = [running(client, body) for _ in range(2)]
        late = client.post(PATH, json=bodies.vector_add(deadline_s=1)).json()
        answer = ended(client, late["url"])
        for url in busy:
            client.delete(url)

    assert (answer["state"], answer["verdict"]) == ("failed", None)
    assert answer["problem"]["slug"] == "deadline_exceeded"
    assert answer["problem"]["retryable"] is True
