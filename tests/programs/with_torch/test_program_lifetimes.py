"""Cancelled programs, and programs whose worker dies: nothing is lost, nothing keeps running."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from programs.program_request import EXAMPLE
from tests.integration.service.running import Deployment
from tests.programs.with_torch.evaluating import evaluate, until_programs_are_offered
from tests.waiting import wait_until

SOURCE, REFERENCE = EXAMPLE["source"], EXAMPLE["reference"]["source"]
ENDLESS = SOURCE + "\nwhile True:\n    pass\n"


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Return a deployment with short leases."""
    deployment = Deployment(tmp_path_factory.mktemp("lifetimes"), TRITOND_LEASE_S="2")
    deployment.start_store()
    deployment.start_service()
    deployment.start_worker()
    try:
        deployment.wait_for_workers()
        yield deployment
    finally:
        deployment.stop()


@pytest.fixture
def client(deployment: Deployment) -> Iterator[httpx.Client]:
    with deployment.client() as client:
        until_programs_are_offered(client)
        yield client


def until(client: httpx.Client, url: str, holds: Callable[[dict[str, Any]], bool]) -> Any:
    seen: dict[str, Any] = {}

    def is_so() -> bool:
        seen.update(client.get(url).json())
        return holds(seen)

    # a worker that starts imports torch first, and tests its sandbox
    wait_until(is_so, f"{holds.__name__} is true", lambda: str(seen), within_s=240)
    return seen


def posted(client: httpx.Client, source: str) -> str:
    body = {"source": source, "reference": {"source": REFERENCE}}
    answer = client.post("/v1/programs", json=body)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["url"])


def is_running(program: dict[str, Any]) -> bool:
    return bool(program["state"] == "running")


def is_over(program: dict[str, Any]) -> bool:
    return program["state"] not in ("queued", "running")


def test_a_program_that_is_cancelled_ends_and_the_next_one_is_done(client: httpx.Client) -> None:
    url = posted(client, ENDLESS)
    until(client, url, is_running)
    assert client.delete(url).status_code in (200, 202, 204)
    assert until(client, url, is_over)["state"] == "cancelled"
    assert evaluate(client, SOURCE, REFERENCE)["verdict"] == "passed"


def test_a_program_whose_worker_dies_is_done_by_another(
    deployment: Deployment, client: httpx.Client
) -> None:
    url = posted(client, SOURCE.replace("forward(self", "forward(me") + "\nsum(range(10**8))\n")
    until(client, url, is_running)
    deployment.workers[-1].kill()
    deployment.start_worker()
    program = until(client, url, is_over)
    assert program["verdict"] == "passed", program
