"""A deployment whose worker serves every Triton that `make test-toolchains` installed.

Collected only when TRITOND_TEST_TOOLCHAINS names those environments' Pythons, separated by ":".
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.integration.service.running import Deployment
from tests.waiting import wait_until

NAMED = os.environ.get("TRITOND_TEST_TOOLCHAINS", "")
collect_ignore_glob = [] if NAMED else ["test_*.py"]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "toolchains: further versions of Triton")


@pytest.fixture(scope="session")
def pythons() -> dict[str, str]:
    """Return the interpreters by their version of Triton, oldest first."""
    found = {}
    for python in NAMED.split(":"):
        [metadata] = Path(python).parents[1].glob("lib/python3*/site-packages/triton-*.dist-info")
        found[metadata.name.removeprefix("triton-").removesuffix(".dist-info")] = python
    return dict(sorted(found.items()))


@pytest.fixture(scope="session")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    running = Deployment(tmp_path_factory.mktemp("toolchains"), TRITOND_TOOLCHAINS=NAMED)
    running.start_store()
    running.start_service()
    running.start_worker()
    running.wait_for_workers(within_s=300)  # four toolchains try forty targets each
    yield running
    said = running.said()
    running.stop()
    assert "Traceback" not in said, said


@pytest.fixture(scope="session")
def client(deployment: Deployment, pythons: dict[str, str]) -> Iterator[httpx.Client]:
    with deployment.client() as client:

        def all_offered() -> bool:
            return len(client.get("/v1/targets").json()["toolchains"]) > len(pythons)

        wait_until(all_offered, "all toolchains are offered")  # services reread them at intervals
        yield client
