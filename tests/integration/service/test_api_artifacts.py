"""Artifacts by stage and blobs by digest: raw bytes, validators, compression."""

from __future__ import annotations

import hashlib
from typing import Any

import httpx
import pytest
import zstandard

from tests.integration.service import bodies
from tests.integration.service.conftest import Post

PLAIN = {"Accept-Encoding": "identity"}
ZSTD = {"Accept-Encoding": "br;q=0.5, zstd"}


@pytest.fixture(scope="module")
def compilation(post: Post) -> dict[str, Any]:
    made: dict[str, Any] = post(bodies.vector_add("artifacts", stop_after="ptx")).json()
    return made


@pytest.mark.parametrize("stage", ["source", "ttir", "ttgir", "llir", "ptx"])
def test_an_artifact_is_the_bytes_that_its_digest_names(
    http: httpx.Client, compilation: dict[str, Any], stage: str
) -> None:
    described = compilation["artifacts"][stage]

    artifact = http.get(described["url"], headers=PLAIN)

    assert len(artifact.content) == described["size_bytes"]
    assert "sha256:" + hashlib.sha256(artifact.content).hexdigest() == described["digest"]
    assert artifact.headers["content-type"].startswith(described["media_type"])
    assert artifact.headers["cache-control"] == "private, no-cache"
    assert artifact.headers["vary"] == "Accept-Encoding"


def test_an_artifact_of_a_compilation_under_way_is_waited_for(
    http: httpx.Client, post: Post
) -> None:
    url = post(bodies.vector_add("waited for"), wait=0).json()["url"]

    artifact = http.get(url + "/artifacts/ptx", params={"wait": 60})

    assert ".visible .entry add_kernel" in artifact.text


def test_an_artifact_that_is_known_is_not_sent_again(
    http: httpx.Client, compilation: dict[str, Any]
) -> None:
    url = compilation["artifacts"]["ptx"]["url"]
    etag = http.get(url, headers=PLAIN).headers["etag"]

    again = http.get(url, headers=PLAIN | {"If-None-Match": f'"other", {etag}'})

    assert again.status_code == 304
    assert again.content == b""
    assert again.headers["etag"] == etag


def test_zstd_is_sent_if_accepted_under_a_separate_etag(
    http: httpx.Client, compilation: dict[str, Any]
) -> None:
    url = compilation["artifacts"]["ptx"]["url"]
    plain = http.get(url, headers=PLAIN)

    with http.stream("GET", url, headers=ZSTD) as packed:
        frame = b"".join(packed.iter_raw())

    assert packed.headers["content-encoding"] == "zstd"
    assert packed.headers["etag"] != plain.headers["etag"]
    assert packed.headers["vary"] == "Accept-Encoding"
    assert len(frame) < len(plain.content) / 2
    assert zstandard.decompress(frame) == plain.content
    known = http.get(url, headers=ZSTD | {"If-None-Match": packed.headers["etag"]})
    assert known.status_code == 304


def test_zstd_is_not_sent_to_who_refuses_it(
    http: httpx.Client, compilation: dict[str, Any]
) -> None:
    url = compilation["artifacts"]["ptx"]["url"]

    answer = http.get(url, headers={"Accept-Encoding": "gzip, zstd;q=0"})

    assert "content-encoding" not in answer.headers


def test_a_blob_never_changes(http: httpx.Client, compilation: dict[str, Any]) -> None:
    ptx = compilation["artifacts"]["ptx"]

    blob = http.get(f"/v1/blobs/{ptx['digest']}", headers=PLAIN)

    assert blob.content == http.get(ptx["url"]).content
    assert "immutable" in blob.headers["cache-control"]


@pytest.mark.parametrize("stage", ["assembly", "hsaco"])
def test_a_stage_that_the_target_has_not(
    http: httpx.Client, compilation: dict[str, Any], stage: str
) -> None:
    answer = http.get(f"{compilation['url']}/artifacts/{stage}")

    assert (answer.status_code, answer.json()["slug"]) == (404, "no_such_stage")


def test_a_stage_that_was_not_reached(http: httpx.Client, compilation: dict[str, Any]) -> None:
    answer = http.get(f"{compilation['url']}/artifacts/cubin")

    assert (answer.status_code, answer.json()["slug"]) == (404, "stage_not_reached")


def test_the_stages_before_a_failure_can_be_read(post: Post, http: httpx.Client) -> None:
    failed = post(bodies.broken("ptxas_error")).json()

    assert failed["state"] == "failed"
    assert "shll.b32" in http.get(failed["artifacts"]["ptx"]["url"]).text


@pytest.mark.parametrize("path", ["sha256:00", "sha256:" + "0" * 64, "nonsense"])
def test_an_unknown_blob(http: httpx.Client, path: str) -> None:
    answer = http.get(f"/v1/blobs/{path}")

    assert (answer.status_code, answer.json()["slug"]) == (404, "not_found")


def test_artifacts_are_included_in_a_get(http: httpx.Client, compilation: dict[str, Any]) -> None:
    answer = http.get(compilation["url"], params={"include": "ttir,ptx"}).json()

    assert set(answer["included"]) == {"ttir", "ptx"}
    assert answer["cache"] is None
    assert ".visible .entry add_kernel" in answer["included"]["ptx"]


def test_a_get_may_name_what_it_includes_one_by_one(
    http: httpx.Client, compilation: dict[str, Any]
) -> None:
    answer = http.get(compilation["url"], params={"include": ["ttir", "ptx"]}).json()

    assert set(answer["included"]) == {"ttir", "ptx"}


def test_a_get_cannot_include_what_is_no_stage(
    http: httpx.Client, compilation: dict[str, Any]
) -> None:
    answer = http.get(compilation["url"], params={"include": "ptx,assembly"})

    assert answer.status_code == 422
    assert answer.json()["parameter"] == "include"
