"""A deployment whose worker has torch, and liger-kernel as it is published.

Collected by `make test-torch` only, whose environment has both.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.service.running import Deployment
from tests.waiting import wait_until

collect_ignore_glob = [] if os.environ.get("TRITOND_TEST_TORCH") else ["test_*.py"]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "liger: needs torch and liger-kernel")


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    running = Deployment(tmp_path_factory.mktemp("liger"))
    running.start_store()
    running.start_service()
    running.start_worker()
    running.wait_for_workers()
    with running.client() as client:

        def evaluates() -> bool:
            return bool(client.get("/health").json()["status"] == "healthy")

        wait_until(evaluates, "a worker records programs", running.said, 120)
    yield running
    said = running.said()
    running.stop()
    assert "Traceback" not in said, said


@pytest.fixture(scope="module")
def plain_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for what Triton's own JIT compiles without any help."""
    return tmp_path_factory.mktemp("plain")
