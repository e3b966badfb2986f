"""One running deployment for all tests, in any folder, that need nothing special."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import httpx
import pytest

from tests.integration.service.running import Deployment


class Post(Protocol):
    def __call__(self, body: dict[str, Any], wait: float = 60, **headers: str) -> httpx.Response:
        """Post a compile request."""
        ...


@pytest.fixture(scope="session")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Yield store, service and one worker with two slots; tests must not break them."""
    deployment = Deployment(tmp_path_factory.mktemp("system"))
    deployment.start_store()
    deployment.start_service()
    deployment.start_worker()
    deployment.wait_for_workers()
    yield deployment
    said = deployment.said()
    deployment.stop()
    assert "unexpected error" not in said
    assert "Traceback" not in said, said


@pytest.fixture(scope="session")
def http(system: Deployment) -> Iterator[httpx.Client]:
    with system.client() as client:
        yield client


@pytest.fixture(scope="session")
def post(http: httpx.Client) -> Post:
    def post(body: dict[str, Any], wait: float = 60, **headers: str) -> httpx.Response:
        return http.post("/v1/compilations", params={"wait": wait}, json=body, headers=headers)

    return post
