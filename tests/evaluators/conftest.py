"""A deployment whose worker evaluates programs, and settings for clients of other evaluators.

Collected by `make test-evaluators` only, in an environment with torch.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.service.running import Deployment
from tests.waiting import wait_until

collect_ignore_glob = [] if os.environ.get("TRITOND_TEST_EVALUATORS") else ["test_*.py"]
EXAMPLES = Path(__file__).parents[2] / "examples"

SCALE: dict[str, Any] = {
    "name": "scale",
    "op_type": "test",
    "axes": {"N": {"type": "const", "value": 128}, "B": {"type": "var"}},
    "inputs": {
        "x": {"shape": ["B", "N"], "dtype": "float32"},
        "by": {"shape": None, "dtype": "float32"},
    },
    "outputs": {"y": {"shape": ["B", "N"], "dtype": "float32"}},
    "reference": "import torch\n\ndef run(x, by):\n    return x * by\n",
}
WORKLOADS: list[dict[str, Any]] = [
    {"uuid": f"w{rows}", "axes": {"B": rows}}
    | {"inputs": {"x": {"type": "random"}, "by": {"type": "scalar", "value": 2.5}}}
    for rows in (3, 7)
]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "evaluators: needs torch and published clients")


@pytest.fixture(scope="session")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("trace")
    (folder / "definitions").mkdir()
    (folder / "definitions/scale.json").write_text(json.dumps(SCALE))
    (folder / "workloads").mkdir()
    lines = [json.dumps({"definition": "scale", "workload": each}) for each in WORKLOADS]
    (folder / "workloads/scale.jsonl").write_text("\n".join(lines))
    settings = {"TRITOND_FLASHINFER_TRACE": str(folder)}
    deployment = Deployment(tmp_path_factory.mktemp("evaluators"), **settings)
    deployment.start_store()
    deployment.start_service()
    deployment.start_worker()
    deployment.wait_for_workers()
    with deployment.client() as client:

        def evaluates() -> bool:
            return client.get("/health").json()["status"] == "healthy"

        wait_until(evaluates, "a worker evaluates programs", deployment.said, 120)
    yield deployment.url
    said = deployment.said()
    deployment.stop()
    assert "Traceback" not in said, said


@pytest.fixture
def http(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, timeout=180) as client:
        yield client


@pytest.fixture(scope="session")
def programs() -> dict[str, str]:
    """Return the programs of examples/programs, by name."""
    return {path.stem: path.read_text() for path in (EXAMPLES / "programs").glob("*.py")}
