"""A deployment with its large blobs in a bucket, here a folder: answers when it fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.command import main
from store.bucket import path_of
from store.frames import digest_of
from tests.integration.service import bodies
from tests.integration.service.conftest import ADMIN_KEY, SECRET_OF_BUCKET
from tests.integration.service.running import Deployment
from tests.security.tree import descendants
from tests.waiting import wait_until


@pytest.fixture(scope="module")
def http(with_keys: Deployment) -> Iterator[httpx.Client]:
    with with_keys.client(authorization=f"Bearer {ADMIN_KEY}") as client:
        yield client


def post(http: httpx.Client, body: dict[str, Any]) -> httpx.Response:
    return http.post("/v1/compilations", params={"wait": 60}, json=body)


def with_failures(http: httpx.Client) -> list[dict[str, Any]]:
    workers: list[dict[str, Any]] = http.get("/v1/workers").json()["workers"]
    return [worker for worker in workers if worker["blobs"] and worker["blobs"]["failures"]]


def objects(bucket: Path) -> list[Path]:
    return [path for path in bucket.rglob("*") if path.is_file()]


def test_a_hit_has_artifacts_of_the_bucket(http: httpx.Client, bucket: Path):
    made = post(http, bodies.large(1)).json()

    hit = post(http, bodies.large(1))

    assert objects(bucket)
    assert hit.headers["cache-status"] == "tritond; hit"
    assert hit.json()["included"] == made["included"]
    artifact = http.get(made["artifacts"]["ttir"]["url"])
    assert artifact.text == made["included"]["ttir"]
    blob = http.get(f"/v1/blobs/{made['artifacts']['ttir']['digest']}")
    assert blob.content == artifact.content
    assert http.get("/v1/system").json()["blobs"] == {
        "scheme": "file", "circuit": "closed", "failures": 0,
    }  # fmt: skip


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"rust")])
def test_lost_and_damaged_objects_are_made_again(http: httpx.Client, bucket: Path, damage):
    made = post(http, bodies.large(2)).json()
    for path in objects(bucket):
        damage(path)

    again = post(http, bodies.large(2))

    assert again.headers["cache-status"] == "tritond; fwd=miss"
    assert again.json()["included"] == made["included"]
    assert post(http, bodies.large(2)).headers["cache-status"] == "tritond; hit"


def test_while_the_bucket_is_away_kernels_are_compiled_and_artifacts_wait(
    http: httpx.Client, bucket: Path
):
    made = post(http, bodies.large(3)).json()
    elsewhere = bucket.with_name("elsewhere")
    bucket.rename(elsewhere)
    bucket.write_text("no folder")
    try:
        waits = http.get(made["artifacts"]["ttir"]["url"])
        again = post(http, bodies.large(3)).json()
        new = post(http, bodies.large(4)).json()
        system = http.get("/v1/system").json()["blobs"]
        metrics = http.get("/metrics").text
        workers = wait_until(lambda: with_failures(http), "the worker says that requests failed")
    finally:
        bucket.unlink()
        elsewhere.rename(bucket)

    assert (waits.status_code, waits.json()["slug"]) == (503, "store_unavailable")
    assert int(waits.headers["retry-after"]) > 0
    assert again["included"] == made["included"]
    assert new["state"] == "succeeded"
    assert set(new["included"]) == {"ttir"}
    assert system["failures"] > 0
    assert f"tritond_bucket_failures_total {system['failures']:.1f}" in metrics
    assert 'tritond_bucket_circuits_open{of="service"}' in metrics
    assert [worker["kind"] for worker in workers] == ["compile"]
    assert http.get(made["artifacts"]["ttir"]["url"]).status_code == 200


def shown_of(pid: int) -> str:
    """Return the environment and the command line of a process, nothing of one that has ended."""
    folder = Path(f"/proc/{pid}")
    try:
        return (folder / "environ").read_text() + (folder / "cmdline").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def test_credentials_stay_with_the_worker_s_own_process(http: httpx.Client, with_keys: Deployment):
    [worker] = with_keys.workers
    assert SECRET_OF_BUCKET in Path(f"/proc/{worker.pid}/environ").read_text()
    compiled = post(http, bodies.running("import os\nprint(dict(os.environ))")).json()
    assert compiled["state"] == "succeeded", compiled["diagnostics"]

    children = {pid: shown_of(pid) for pid in descendants(worker.pid)}

    assert sum(map(bool, children.values())) > 1
    assert [pid for pid, shown in children.items() if SECRET_OF_BUCKET in shown] == []
    assert "PYTHONHASHSEED" in compiled["stdout"]
    assert SECRET_OF_BUCKET not in compiled["stdout"]


def test_the_command_sweeps_what_the_cache_has_forgotten(
    http: httpx.Client,
    with_keys: Deployment,
    bucket: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    made = post(http, bodies.large(5)).json()
    forgotten = bucket / path_of(digest_of(b"forgotten"))
    forgotten.parent.mkdir(parents=True)
    forgotten.write_bytes(b"forgotten")
    monkeypatch.setattr("sys.argv", ["tritond", "blobs", "sweep", "--older-than-days", "0"])
    monkeypatch.setenv("TRITOND_REDIS_URL", with_keys.redis_url)
    with pytest.raises(SystemExit, match="set TRITOND_BLOBS_URL"):
        main()
    monkeypatch.setenv("TRITOND_BLOBS_URL", f"file://{bucket}")

    main()

    assert "deleted" in capsys.readouterr().out
    assert not forgotten.exists()
    assert http.get(made["artifacts"]["ttir"]["url"]).is_success
