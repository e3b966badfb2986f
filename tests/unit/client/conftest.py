from collections.abc import Iterator
from pathlib import Path

import pytest
from tritonc import Client

from tests.unit.client.fake_tritond import FakeTritond


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the pauses, in seconds, that the client makes. Only these pauses advance its clock."""
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr("tritonc._sync.http_connection.sleep", pauses.append)
    monkeypatch.setattr("tritonc._async.http_connection.sleep", pause)
    for client in ("_sync", "_async"):
        monkeypatch.setattr(f"tritonc.{client}.http_connection.monotonic", lambda: sum(pauses))
    return pauses


@pytest.fixture
def tritond() -> FakeTritond:
    return FakeTritond()


@pytest.fixture
def client(tritond: FakeTritond) -> Iterator[Client]:
    with Client("http://tritond.test:8000", api_key="secret", transport=tritond) as client:
        yield client


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of a source file in the working directory."""
    monkeypatch.chdir(tmp_path)
    Path("add.py").write_text("import triton\n")
    return "add.py"
