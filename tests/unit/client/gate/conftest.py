from pathlib import Path

import pytest

from tests.unit.client.gate.gate_service import GateService


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GateService:
    """Return a fake service; the working directory is empty."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tritonc.gate.measure_cells.sleep", lambda seconds: None)
    return GateService()
