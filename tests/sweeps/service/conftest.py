"""One deployment with a fake GPU, for all searches."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.integration.service.running import Deployment
from tests.sweeps.service.searching import started


@pytest.fixture(scope="session")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Its only worker claims to have a GPU; tests may kill and restart it."""
    deployment = started(tmp_path_factory.mktemp("search"), TRITOND_LEASE_S="2")
    yield deployment
    said = deployment.said()
    deployment.stop()
    assert "Traceback" not in said, said


@pytest.fixture(scope="session")
def gpu(deployment: Deployment) -> Iterator[httpx.Client]:
    with deployment.client() as client:
        yield client
