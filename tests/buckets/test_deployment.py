"""A service and a worker survive a bucket that stops and returns, with no wrong answer."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from store.frames import digest_of
from tests.buckets.conftest import KEY, SECRET, S3Server
from tests.integration.service import bodies
from tests.integration.service.running import Deployment
from tests.security.tree import descendants
from tests.waiting import wait_until


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory, rclone: S3Server) -> Iterator[Deployment]:
    settings = {
        "TRITOND_BLOBS_URL": "s3://bucket/deployment",
        "TRITOND_MEMORY_CACHE_BYTES": "0",
        "AWS_ENDPOINT_URL": rclone.url,
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "SSL_CERT_DIR": "/etc/ssl/certs",
    }
    deployment = Deployment(tmp_path_factory.mktemp("deployment"), **settings)
    deployment.start_store()
    deployment.start_service()
    deployment.start_worker()
    deployment.wait_for_workers()
    yield deployment
    said = deployment.said()
    parts = [deployment.service, *deployment.workers]
    run = [part is not None and part.still_runs() for part in parts]
    deployment.stop()
    assert run == [True, True], said
    assert "Traceback" not in said, said


@pytest.fixture(scope="module")
def http(deployment: Deployment) -> Iterator[httpx.Client]:
    with deployment.client() as client:
        yield client


def has_secret(pid: int) -> bool:
    """Return whether the secret is in the memory of a process, which may end meanwhile."""
    with suppress(FileNotFoundError, ProcessLookupError):
        maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
        with Path(f"/proc/{pid}/mem").open("rb", 0) as memory:
            for line in maps:
                span, rights, *_ = line.split()
                if rights.startswith("rw"):
                    start, end = (int(word, 16) for word in span.split("-"))
                    with suppress(OSError):
                        memory.seek(start)
                        if SECRET.encode() in memory.read(end - start):
                            return True
    return False


def compiled(http: httpx.Client, seed: int) -> dict[str, Any]:
    answer = http.post("/v1/compilations", params={"wait": 60}, json=bodies.large(seed))
    answer.raise_for_status()
    found: dict[str, Any] = answer.json()
    return found


def hits_again(http: httpx.Client, seed: int) -> bool:
    """Return whether the bucket serves; repeated compilations may be in the cache meanwhile."""
    return compiled(http, seed)["cache"] == "hit"


def test_a_bucket_that_stops_answering(http: httpx.Client, rclone: S3Server):
    made = compiled(http, 1)
    rclone.pause()
    try:
        waits = http.get(made["artifacts"]["ttir"]["url"])
        again, new = compiled(http, 1), compiled(http, 2)
    finally:
        rclone.resume()

    assert (waits.status_code, waits.json()["slug"]) == (503, "store_unavailable")
    assert again["included"] == made["included"]
    assert (new["state"], list(new["included"])) == ("succeeded", ["ttir"])
    wait_until(lambda: http.get(made["artifacts"]["ttir"]["url"]).is_success, "it is served again")
    wait_until(lambda: hits_again(http, 2), "hits")


def test_a_bucket_that_is_killed_under_load(http: httpx.Client, rclone: S3Server):
    before = {seed: compiled(http, seed) for seed in range(10, 14)}
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(partial(compiled, http, 10 + n % 8)) for n in range(24)]
        rclone.kill()
        asked += [pool.submit(partial(compiled, http, 10 + n % 8)) for n in range(8)]
        meanwhile = [each.result() for each in asked]
        rclone.start()
    after = {seed: compiled(http, seed) for seed in range(10, 18)}

    by_key = {each["key"]: each["included"] for each in after.values()}
    assert [each["included"] for each in meanwhile] == [by_key[each["key"]] for each in meanwhile]
    assert [each["included"] for each in before.values()] == [
        by_key[each["key"]] for each in before.values()
    ]
    assert {each["state"] for each in meanwhile} == {"succeeded"}


def test_an_upload_is_kept_while_the_bucket_is_away(http: httpx.Client, rclone: S3Server):
    file = io.BytesIO()
    np.save(file, np.random.default_rng(1).random(64 << 10))
    upload, digest = file.getvalue(), digest_of(file.getvalue())
    rclone.kill()
    try:
        put = http.put(f"/v1/tensors/{digest}", content=upload)
        got = http.get(f"/v1/tensors/{digest}")
    finally:
        rclone.start()

    assert put.status_code == 201
    assert got.content == upload


@pytest.mark.skipif(os.geteuid() != 0, reason="only root reads the memory of other processes")
def test_no_child_has_the_secret_in_its_memory(http: httpx.Client, deployment: Deployment):
    compiled(http, 30)  # the worker has signed requests by now
    [worker] = deployment.workers

    children = descendants(worker.pid)

    assert has_secret(worker.pid)
    assert len(children) > 1
    assert [pid for pid in children if has_secret(pid)] == []
