"""The data folders of earlier releases, read by this version. `make.py` makes one."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from compiler.labelled_digest import KEY_VERSION
from tests.integration.service.running import Deployment
from tests.slow.releases.make import FOLDER, KEPT

RELEASES = sorted(FOLDER.glob("*.tar.xz"))


@pytest.fixture(params=RELEASES, ids=lambda path: path.name.removesuffix(".tar.xz"))
def release(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


@pytest.fixture
def content(release: Path) -> Any:
    return json.loads((FOLDER / release.name.replace(".tar.xz", ".json")).read_text())


@pytest.fixture
def http(release: Path, content: Any, tmp_path: Path) -> Iterator[httpx.Client]:
    """Yield a client with the release's API key, of a service without a worker."""
    deployment = Deployment(tmp_path)
    with tarfile.open(release) as tar:
        tar.extractall(tmp_path / "data", filter="data")
    try:
        deployment.start_store()
        deployment.start_service()
        with deployment.client(authorization=f"Bearer {content['secret']}") as client:
            yield client
    finally:
        deployment.stop()


def test_a_request_is_a_hit_if_its_release_made_keys_as_this_one(
    http: httpx.Client, content: Any
) -> None:
    for each in content["compilations"]:
        answer = http.post("/v1/compilations", json=each["request"]).json()
        same = content["key_version"] == KEY_VERSION
        assert answer.get("cache") == ("hit" if same else "miss"), answer
        assert (answer["key"] == each["answer"]["key"]) == same


def test_compilations_of_an_earlier_release_are_read_by_key(
    http: httpx.Client, content: Any
) -> None:
    for each in content["compilations"]:
        url = f"/v1/compilations/{each['answer']['key']}"
        answer = http.get(url, params={"include": "ttir,ptx"})
        assert {name: answer.json()[name] for name in KEPT} == each["answer"]


def test_api_keys_of_an_earlier_release_are_asked_for(http: httpx.Client) -> None:
    http.headers.pop("authorization")
    assert http.get("/v1/system").status_code == 401
