"""Third-party S3 servers on local sockets: rclone over a folder, and moto in memory.

Collected by `make test-blobs` only, which installs them into a separate environment.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from store.bucket import Bucket
from store.embedded import bound_to_parent
from tests.buckets.faulty_proxy import FaultyProxy
from tests.integration.conftest import blocking, cache, redis, valkey
from tests.integration.service.running import HERE, Place, free_port
from tests.waiting import wait_until

__all__ = ["blocking", "cache", "redis", "valkey"]

NAMED = os.environ.get("TRITOND_TEST_BLOBS", "")
collect_ignore_glob = [] if NAMED else ["test_*.py"]
KEY, SECRET = "accesskey", "secret-of-the-bucket-7f3a"

RCLONE = (
    *("rclone", "serve", "s3", "--addr", "{address}:{port}"),
    *("--auth-key", f"{KEY},{SECRET}", "{folder}"),
)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "buckets: real S3 servers, and what goes wrong with them")


class S3Server:
    """A process that serves S3; its endpoint `url` stays the same over restarts."""

    def __init__(self, folder: Path, *command: str, place: Place = HERE) -> None:
        self.port = free_port()
        self.url = f"http://{place.address}:{self.port}"
        self.folder = folder
        self._place = place
        self._log = folder.with_suffix(".log")
        known = {"address": place.address, "port": self.port, "folder": folder}
        self._command = [word.format(**known) for word in command]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        program, *arguments = self._command
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                bound_to_parent(*self._place.prefix, f"{NAMED}/bin/{program}", *arguments),
                env={"RCLONE_CONFIG": os.devnull, "PATH": os.environ["PATH"], "HOME": "/nowhere"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        said = re.compile(rb"Starting s3 server on|Running on http")
        wait_until(lambda: said.search(self._log.read_bytes()), "S3 is served")

    def still_runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def pause(self) -> None:
        """Stop answering, on open connections and new ones."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        if self._process is not None:
            self.resume()
            self.kill()


@pytest.fixture(scope="session")
def rclone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    folder = tmp_path_factory.mktemp("rclone") / "served"
    (folder / "bucket").mkdir(parents=True)
    server = S3Server(folder, *RCLONE)
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    folder = tmp_path_factory.mktemp("moto") / "unused"
    server = S3Server(folder, "moto_server", "-H", "127.0.0.1", "-p", "{port}")
    server.start()
    yield server
    server.kill()


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)  # tests/conftest.py sets it
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_REGION", "us-east-1")


@pytest.fixture
async def proxy(rclone: S3Server) -> AsyncIterator[FaultyProxy]:
    """Yield a proxy in front of rclone; it is harmless until a test sets a fault."""
    async with FaultyProxy(rclone.port) as proxy:
        yield proxy


@pytest.fixture
def bucket(proxy: FaultyProxy, credentials: None, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
    return Bucket("s3://bucket/prefix")
