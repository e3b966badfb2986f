"""Programs recorded and replayed with torch, in the environment of `make test-torch`.

They are collected only there, since no other test needs torch.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.integration.service.running import Deployment
from tests.programs.with_torch.evaluating import until_programs_are_offered

if TYPE_CHECKING:
    from tests.programs.with_torch.stand_in_program_gpu import Gpu

collect_ignore_glob = [] if os.environ.get("TRITOND_TEST_TORCH") else ["test_*.py"]


@pytest.fixture(scope="session")
def recording_deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Yield a deployment that records programs."""
    folder = tmp_path_factory.mktemp("programs")
    deployment = Deployment(folder, TRITOND_RECEIPT_KEY_FILE=str(folder / "receipt-key.pem"))
    deployment.start_store()
    deployment.start_service()
    deployment.start_worker()
    try:
        deployment.wait_for_workers()
        with deployment.client() as client:
            until_programs_are_offered(client)
        yield deployment
    finally:
        said = deployment.said()
        deployment.stop()
    assert "Traceback" not in said, said


@pytest.fixture(scope="session")
def programs(recording_deployment: Deployment) -> Iterator[httpx.Client]:
    """Yield a client of a deployment that records programs."""
    with recording_deployment.client() as client:
        yield client


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Gpu:
    """Yield a GPU that replays programs in this process."""
    from tests.programs.with_torch.stand_in_program_gpu import Gpu

    return Gpu(monkeypatch)
