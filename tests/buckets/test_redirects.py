"""Clients that prefer it get large bytes by a signed URL of the bucket."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator

import httpx
import pytest
from tritonc import AsyncClient

from tests.buckets.conftest import KEY, SECRET, S3Server
from tests.integration.service import bodies
from tests.integration.service.running import Deployment

ADMIN = "secret-of-the-admin-77aa"
ASKED = {"Prefer": "redirect", "Accept-Encoding": "zstd"}


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory, rclone: S3Server):
    settings = {
        "TRITOND_BLOBS_URL": "s3://bucket/redirects",
        "TRITOND_BLOBS_REDIRECT": "true",
        "TRITOND_ADMIN_KEY": ADMIN,
        "AWS_ENDPOINT_URL": rclone.url,
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "SSL_CERT_DIR": "/etc/ssl/certs",
    }
    deployment = Deployment(tmp_path_factory.mktemp("redirects"), **settings)
    deployment.start_store()
    deployment.start_service()
    deployment.start_worker()
    deployment.wait_for_workers()
    yield deployment
    deployment.stop()


@pytest.fixture
async def client(deployment: Deployment) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(deployment.url, api_key=ADMIN) as client:
        yield client


@pytest.fixture
def http(deployment: Deployment):
    with deployment.client(authorization=f"Bearer {ADMIN}") as http:
        yield http


@pytest.fixture
def made(http: httpx.Client):
    answer = http.post("/v1/compilations", params={"wait": 60}, json=bodies.large(40))
    return answer.json()


def test_a_client_that_prefers_a_redirect_gets_a_signed_url(
    http: httpx.Client, made, rclone: S3Server
):
    artifact = made["artifacts"]["ttir"]

    for url in (artifact["url"], f"/v1/blobs/{artifact['digest']}"):
        redirect = http.get(url, headers=ASKED)

        assert redirect.status_code == 307
        assert redirect.headers["location"].startswith(f"{rclone.url}/bucket/redirects/sha256/")
        assert redirect.headers["tritond-digest"] == artifact["digest"]
        assert redirect.headers["cache-control"] == "no-store"
        found = httpx.get(redirect.headers["location"])
        assert found.headers["content-encoding"] == "zstd"
        assert found.text == made["included"]["ttir"]


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"Accept-Encoding": "zstd"}, id="does not prefer it"),
        pytest.param({"Prefer": "redirect", "Accept-Encoding": "gzip"}, id="does not read zstd"),
    ],
)
def test_others_get_the_bytes(http: httpx.Client, made, headers: dict[str, str]):
    answer = http.get(made["artifacts"]["ttir"]["url"], headers=headers)

    assert answer.status_code == 200
    assert answer.text == made["included"]["ttir"]


def test_small_bytes_are_not_redirected(http: httpx.Client):
    made = http.post("/v1/compilations?wait=60", json=bodies.vector_add("small")).json()

    assert http.get(made["artifacts"]["ttir"]["url"], headers=ASKED).status_code == 200


def test_a_caller_without_access_to_a_blob_gets_no_url(
    http: httpx.Client, deployment: Deployment, made
):
    digest = made["artifacts"]["ttir"]["digest"]
    with deployment.client() as stranger:
        assert stranger.get(f"/v1/blobs/{digest}", headers=ASKED).status_code == 401
    unknown = f"sha256:{hashlib.sha256(b'unknown').hexdigest()}"
    assert http.get(f"/v1/blobs/{unknown}", headers=ASKED).status_code == 404


def test_a_url_serves_no_other_object(http: httpx.Client, made):
    redirect = http.get(made["artifacts"]["ttir"]["url"], headers=ASKED)
    url, _, signature = redirect.headers["location"].partition("?")

    assert httpx.get(url).status_code in {400, 403}
    assert httpx.get(f"{url[:-1]}0?{signature}").status_code == 403
    assert httpx.put(redirect.headers["location"], content=b"poison").status_code == 403


async def test_the_client_follows(client: AsyncClient, made):
    assert (await client.artifact(made["key"], "ttir")).decode() == made["included"]["ttir"]
