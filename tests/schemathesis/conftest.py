"""A deployment that schemathesis tests with requests from our OpenAPI document.

Collected by `make test-schemathesis` only, which installs that program.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.integration.service.running import Deployment

PROGRAM = os.environ.get("TRITOND_TEST_SCHEMATHESIS", "")
collect_ignore_glob = [] if PROGRAM else ["test_*.py"]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "schemathesis: requests made of the OpenAPI document")


@pytest.fixture
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    # a request may ask for any waiting time
    deployment = Deployment(tmp_path_factory.mktemp("schemathesis"), TRITOND_MAX_WAIT_S="0.2")
    deployment.start_store()
    deployment.start_service()
    deployment.start_worker()
    deployment.wait_for_workers()
    yield deployment
    deployment.stop()
