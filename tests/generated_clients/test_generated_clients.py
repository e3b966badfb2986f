"""Clients generated from the OpenAPI document, without a warning, compile and launch a kernel."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.generated_clients.conftest import GENERATORS
from tests.integration.service import bodies
from tests.integration.service.launches import bodies as launch_bodies
from tests.integration.service.running import Deployment

HERE = Path(__file__).parent
BODIES = json.dumps(
    {"compilation": bodies.good("vector_add"), "launch": launch_bodies.vector_add()}
)
EXPECTED = {
    "state": "succeeded",
    "entry": "add_kernel",
    "verdict": "passed",
    "location": True,
    "listed": True,
    "refused": "invalid_request",
}


def run(*words: str | Path, folder: Path, **environment: str) -> str:
    programs = f"{GENERATORS}/bin:{GENERATORS}/node_modules/.bin"
    path = {"PATH": f"{programs}:{os.environ['PATH']}"}
    ran = subprocess.run(
        list(map(str, words)),
        cwd=folder,
        env=os.environ | path | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
    return ran.stdout


@pytest.fixture(params=["openapi", "openapi-adapters"])
def document(request: pytest.FixtureRequest, http: httpx.Client, tmp_path: Path) -> Path:
    """Return a file with a document of the service."""
    return fetched(request.param, http, tmp_path)


def fetched(name: str, http: httpx.Client, folder: Path) -> Path:
    file = folder / f"{name}.json"
    file.write_bytes(http.get(f"/{name}.json", timeout=60).content)
    return file


def python_client(document: Path, folder: Path) -> str:
    """Generate a client in Python; return its generator's output."""
    words = ("openapi-python-client", "generate", "--path", document, "--output-path", "client")
    return run(*words, folder=folder)


def test_openapi_python_client_has_no_warning(document: Path, tmp_path: Path) -> None:
    assert python_client(document, tmp_path).strip() == "Generating client"


def test_openapi_typescript_makes_types_that_a_compiler_accepts(
    document: Path, tmp_path: Path
) -> None:
    run("openapi-typescript", document, "-o", "types.ts", folder=tmp_path)
    run("tsc", "--strict", "--noEmit", "types.ts", folder=tmp_path)


def test_a_python_client_compiles_and_launches(
    system: Deployment, http: httpx.Client, tmp_path: Path
) -> None:
    python_client(fetched("openapi", http, tmp_path), tmp_path)

    said = run(
        *("python", HERE / "python_client.py", system.url, BODIES),
        folder=tmp_path,
        PYTHONPATH=str(tmp_path / "client"),
    )

    assert json.loads(said) == EXPECTED


def test_a_typescript_client_compiles_and_launches(
    system: Deployment, http: httpx.Client, tmp_path: Path
) -> None:
    document = fetched("openapi", http, tmp_path)
    run("openapi-typescript", document, "-o", "tritond.ts", folder=tmp_path)
    shutil.copy(HERE / "typescript_client.ts", tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "node_modules").symlink_to(f"{GENERATORS}/node_modules")
    options: list[Any] = ["--strict", "--module", "nodenext", "--target", "es2022"]
    run("tsc", *options, "typescript_client.ts", folder=tmp_path)

    said = run("node", "typescript_client.js", system.url, BODIES, folder=tmp_path)

    assert json.loads(said) == EXPECTED | {"last": True}
