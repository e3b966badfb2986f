"""A deployment whose worker has torch, in the environment of `make test-torch`.

Collected only there, since no other test needs torch.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import httpx
import pytest

from tests.integration.service.running import Deployment

collect_ignore_glob = [] if os.environ.get("TRITOND_TEST_TORCH") else ["test_*.py"]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "torch_references: needs torch")


@pytest.fixture(scope="session")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    deployment = Deployment(tmp_path_factory.mktemp("torch"))
    deployment.start_store()
    deployment.start_service()
    deployment.start_worker()
    deployment.wait_for_workers()
    with deployment.client() as client:
        yield client
    said = deployment.said()
    deployment.stop()
    assert "Traceback" not in said, said
