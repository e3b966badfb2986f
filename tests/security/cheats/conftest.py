"""One deployment for all cheats; the naive evaluator beside it is tried where torch is."""

from __future__ import annotations

import os
from collections.abc import Iterator

import httpx
import pytest

from tests.integration.service.running import Deployment

collect_ignore = [] if os.environ.get("TRITOND_TEST_TORCH") else ["test_naive.py"]


@pytest.fixture(scope="package")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    deployment = Deployment(tmp_path_factory.mktemp("cheats"))
    deployment.start_store()
    deployment.start_service()
    deployment.start_worker()
    deployment.wait_for_workers()
    with deployment.client() as client:
        yield client
    said = deployment.said()
    deployment.stop()
    assert "Traceback" not in said, said
