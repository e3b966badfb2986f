"""URLs of buckets: a wrong one is refused at start, with the form to write instead."""

import importlib.util

import pytest
from pydantic import ValidationError

from service.settings import ServiceSettings, wrong_settings
from store.bucket import FAILURES_TO_OPEN, Circuit, checked_url, path_of
from store.frames import digest_of
from worker.settings import WorkerSettings


def test_a_bucket_with_a_prefix_is_taken(tmp_path, monkeypatch):
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    for url in ("s3://bucket/prefix", "s3://bucket", "gs://bucket/prefix", f"file://{tmp_path}"):
        assert checked_url(url) == url


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("bucket/prefix", "must begin with s3://"),
        ("https://example.com/bucket", "must begin with s3://"),
        ("memory:///", "must begin with s3://"),
        ("s3://key:secret@bucket/prefix", "put credentials and the endpoint into the variables"),
        ("s3://bucket/prefix?region=eu", "a bucket and a prefix alone"),
        ("s3:///prefix", "cannot be used"),
        ("file://relative/folder", "cannot be used"),
        ("file:///no/such/folder", "make it first"),
    ],
)
@pytest.mark.parametrize("settings", [ServiceSettings, WorkerSettings])
def test_another_url_is_refused_with_what_to_write(monkeypatch, settings, url, said):
    monkeypatch.setenv("TRITOND_BLOBS_URL", url)

    with pytest.raises(ValidationError) as refused:
        settings()

    words = wrong_settings(refused.value)
    assert words.startswith("TRITOND_BLOBS_URL: ")
    assert said in words
    assert "secret" not in words


@pytest.mark.parametrize("url", ["", "file:///"])
def test_redirects_need_a_bucket_that_signs_urls(monkeypatch, url):
    monkeypatch.setenv("TRITOND_BLOBS_REDIRECT", "true")
    monkeypatch.setenv("TRITOND_BLOBS_URL", url)

    with pytest.raises(ValidationError) as refused:
        ServiceSettings()

    words = wrong_settings(refused.value)
    assert words.startswith("TRITOND_BLOBS_REDIRECT: ")
    assert "set TRITOND_BLOBS_URL to an s3://" in words


def test_without_obstore_the_refusal_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    with pytest.raises(ValueError, match=r"pip install 'tritond\[blobs\]'"):
        checked_url("s3://bucket/prefix")


def test_an_object_is_called_after_the_digest():
    assert path_of(digest_of(b"")) == (
        "sha256/e3/b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    )


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("store.bucket.time.monotonic", lambda: now[0])
    return now


def test_a_circuit_opens_after_failures_in_a_row(clock):
    circuit = Circuit()
    for _ in range(FAILURES_TO_OPEN - 1):
        circuit.note_failure()
    circuit.note_success()
    circuit.note_failure()
    assert circuit.admits()

    for _ in range(FAILURES_TO_OPEN):
        circuit.note_failure()

    assert circuit.is_open
    assert not circuit.admits()


def test_an_open_circuit_lets_one_request_through_at_times(clock):
    circuit = Circuit()
    for _ in range(FAILURES_TO_OPEN):
        circuit.note_failure()
    clock[0] += 6

    assert [circuit.admits() for _ in range(3)] == [True, False, False]

    circuit.note_success()
    assert not circuit.is_open
    assert circuit.admits()
