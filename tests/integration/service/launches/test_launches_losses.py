"""A worker that dies in the middle of a launch, and launches that run out of time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.integration.service.launches import bodies
from tests.integration.service.launches.conftest import Launch
from tests.integration.service.launches.test_launches_absurd import ENDLESS
from tests.integration.service.running import Deployment, ended
from tests.waiting import wait_until

PATH = "/v1/launches"
LEASE_S = 2


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A deployment whose workers these tests end."""
    deployment = Deployment(tmp_path_factory.mktemp("machine"), TRITOND_LEASE_S=str(LEASE_S))
    deployment.start_store()
    deployment.start_service()
    deployment.start_worker()
    deployment.wait_for_workers()
    yield deployment
    said = deployment.said()
    deployment.stop()
    assert "Traceback" not in said, said


def busy_for(cpu_s: float) -> dict[str, Any]:
    """A launch that takes so much of a processor's time: the less of it there is, the longer."""
    return bodies.loading(
        f"import time\nend = time.process_time() + {cpu_s}\n"
        "while time.process_time() < end:\n    pass"
    )


def running(client: httpx.Client, body: dict[str, Any]) -> str:
    """Post a launch; return its URL when a worker is at it."""
    posted = client.post(PATH, json=body)
    assert posted.status_code == 202, posted.text
    url: str = posted.json()["url"]
    wait_until(lambda: client.get(url).json()["state"] == "running", "it runs")
    return url


def test_the_launch_of_a_killed_worker_is_done_by_another(machine: Deployment) -> None:
    with machine.client() as client:
        url = running(client, busy_for(1))

        machine.workers.pop().kill()
        machine.start_worker()
        answer = ended(client, url)
        told = client.get(f"{url}/events").text

    assert (answer["state"], answer["verdict"]) == ("completed", "not_checked")
    assert '"attempt":2' in told.replace(" ", "")


def test_a_worker_that_stops_gives_its_launch_back(machine: Deployment) -> None:
    with machine.client() as client:
        url = running(client, busy_for(1))

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


def test_cases_after_the_deadline_are_not_run(launch: Launch) -> None:
    one = bodies.output(1, dtype="i32", init={"kind": "ones"})
    quick = bodies.written(ENDLESS, {"out_ptr": one, "n": 0}, deadline_s=4, timeout_s=60)
    endless = {"arguments": {"n": 16}}

    answer = launch(quick | {"cases": [{}, *[endless] * 4]})

    verdicts = [case["verdict"] for case in answer["cases"]]
    slugs = {case["problem"]["slug"] for case in answer["cases"] if case["problem"]}
    assert verdicts[0] == "not_checked"
    assert verdicts[-2:] == [None, None]
    assert slugs == {"deadline_exceeded"}
    assert (answer["state"], answer["verdict"]) == ("completed", "not_checked")


def test_a_compilation_that_the_deadline_ends_is_no_timeout_of_its_own(launch: Launch) -> None:
    answer = launch(bodies.loading("while True:\n    pass", timeout_s=60, deadline_s=3))

    assert (answer["state"], answer["verdict"]) == ("failed", None)
    assert answer["problem"]["slug"] == "deadline_exceeded"
    assert "deadline_s = 3 s" in answer["problem"]["detail"]


def test_a_run_that_the_deadline_ends_is_no_timeout_of_its_own(launch: Launch) -> None:
    one = bodies.output(1, dtype="i32", init={"kind": "ones"})
    endless = {"out_ptr": one, "n": 5}

    answer = launch(bodies.written(ENDLESS, endless, timeout_s=60, deadline_s=5))

    assert (answer["state"], answer["verdict"]) == ("failed", None)
    assert answer["problem"]["slug"] == "deadline_exceeded"
