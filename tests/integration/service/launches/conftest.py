"""Posts launches to the shared deployment, and to one with API keys and no worker."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Protocol

import httpx
import pytest
from jsonschema import Draft202012Validator

from launch.request.launch_request import LaunchRequest
from store.api_keys import ApiKeys
from store.connection import connect
from tests.integration.service.conftest import without_worker
from tests.integration.service.launches.bodies import written
from tests.integration.service.running import Deployment
from tests.waiting import wait_until

SCHEMA = Draft202012Validator(LaunchRequest.model_json_schema())
"""The OpenAPI document's schema: every accepted request must match it."""
RETURNED = {"return": {"out_ptr": "values"}}


class Launch(Protocol):
    def __call__(self, body: dict[str, Any], wait: float = 60, **headers: str) -> dict[str, Any]:
        """Post a launch that must be accepted; return the answer."""
        ...


@pytest.fixture(scope="session")
def launch(http: httpx.Client) -> Launch:
    def launch(body: dict[str, Any], wait: float = 60, **headers: str) -> dict[str, Any]:
        SCHEMA.validate(body)
        answer = http.post("/v1/launches", params={"wait": wait}, json=body, headers=headers)
        assert answer.status_code in {200, 202}, answer.text
        launched: dict[str, Any] = answer.json()
        return launched

    return launch


def values(launch: Launch, code: str, arguments: dict[str, Any], **changes: Any) -> Any:
    """Return the contents of `out_ptr` after running the kernel that `code` defines."""
    body = written(code, arguments, **RETURNED, **changes)
    answer = launch(body)
    assert answer["state"] == "completed", answer["problem"]
    assert answer["findings"] == []
    return answer["outputs"]["out_ptr"]["values"]


@pytest.fixture(scope="session")
def keyed(system: Deployment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Yield a service with API keys, a known toolchain and small quotas, but no worker."""
    quotas = {
        "TRITOND_MAX_TENSOR_BYTES": "4096",
        "TRITOND_MAX_TENSORS_BYTES": "6000",
        "TRITOND_MAX_QUEUED_PER_CALLER": "3",
    }
    with without_worker(system, tmp_path_factory.mktemp("keyed"), **quotas) as deployment:
        yield deployment


@pytest.fixture(scope="session")
def secrets(keyed: Deployment) -> dict[str, str]:
    """Return API keys by name: two that may launch, and one that may only compile."""

    async def make() -> dict[str, str]:
        scopes = {"alice": ("launch",), "bob": ("launch",), "carol": ("compile",)}
        async with connect(keyed.redis_url) as redis:
            keys = ApiKeys(redis)
            return {name: (await keys.create(name, its))[1] for name, its in scopes.items()}

    return asyncio.run(make())


@pytest.fixture
def callers(keyed: Deployment, secrets: dict[str, str]) -> Iterator[dict[str, httpx.Client]]:
    """Yield a client for each key; then cancel what they left in the queue."""
    with ExitStack() as stack:
        clients = {
            name: stack.enter_context(keyed.client(authorization=f"Bearer {secret}"))
            for name, secret in secrets.items()
        }
        posted: list[tuple[httpx.Client, str]] = []

        def remember(client: httpx.Client, answer: httpx.Response) -> None:
            if answer.request.method == "POST" and "location" in answer.headers:
                posted.append((client, answer.headers["location"]))

        for client in clients.values():
            hook = lambda answer, client=client: remember(client, answer)  # noqa: E731
            client.event_hooks["response"] = [hook]
        yield clients
        for client, url in posted:
            client.delete(url)


@pytest.fixture(scope="session")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of a deployment whose only worker claims to have a GPU."""
    deployment = Deployment(tmp_path_factory.mktemp("gpu"), TRITOND_DRAIN_S="0")
    deployment.start_store()
    deployment.start_service()
    deployment.start_worker("tests.integration.worker.launcher_on_fake_cuda")
    deployment.wait_for_workers()
    with deployment.client() as client:
        wait_until(lambda: client.get("/v1/devices").json()["devices"], "a GPU", deployment.said)
        yield client
    said = deployment.said()
    deployment.stop()
    assert "Traceback" not in said, said
