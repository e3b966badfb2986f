"""The real parts as processes: Valkey, the service, workers. All end with these tests."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from store import keys
from store.connection import connect
from store.embedded import EmbeddedValkey, bound_to_parent
from tests.waiting import LIMIT_S, wait_until

ROOT = Path(__file__).parents[3]
_PORTS: list[socket.socket] = []
"""Sockets of `free_port`, held until these tests end."""
_TRIED = ROOT / ".cache/tests/targets_tried.json"
"""Targets that workers of this toolchain tested: testing takes 3 s of CPU time.

A store keeps them for a day. Their names contain the digest of our code and of Triton.
"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a process runs: the address there, and the words that start a command there."""

    address: str = "127.0.0.1"
    prefix: Sequence[str] = ()


HERE = Place()


class Process:
    """One of our Python programs; its output goes to `log`."""

    def __init__(
        self,
        log: Path,
        *arguments: str,
        cwd: Path = ROOT,
        place: Place = HERE,
        **settings: str,
    ) -> None:
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("TRITOND_") or name == "TRITOND_SLOW_STEPS"
        }
        self.log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                bound_to_parent(*place.prefix, sys.executable, *arguments),
                cwd=cwd,
                env=inherited | settings,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        self.pid = self._process.pid

    @property
    def said(self) -> str:
        return self.log.read_text()

    @property
    def resident_bytes(self) -> int:
        """Return the memory that it holds."""
        pages = Path(f"/proc/{self.pid}/statm").read_text().split()[1]
        return int(pages) * resource.getpagesize()

    def send(self, number: int) -> None:
        self._process.send_signal(number)

    def wait(self, timeout_s: float = LIMIT_S) -> int:
        """Return its status when it has ended; fail, and kill it, if it does not end."""
        try:
            return self._process.wait(timeout_s)
        finally:
            self._process.kill()

    def stop(self) -> int:
        self._process.terminate()
        return self.wait()

    def kill(self) -> int:
        self._process.kill()
        return self.wait()

    def still_runs(self) -> bool:
        return self._process.poll() is None


class Deployment:
    """One store, one service and any number of workers, with a separate data folder and port."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self.url = f"http://127.0.0.1:{free_port()}"
        self.workers: list[Process] = []
        self._settings = settings
        self._service: Process | None = None
        self._store: EmbeddedValkey | None = None
        self._store_url: str | None = None

    @property
    def redis_url(self) -> str:
        return self._store_url or self.store.url

    @property
    def service(self) -> Process | None:
        """The process of the service."""
        return self._service

    @property
    def store(self) -> EmbeddedValkey:
        """The running server."""
        assert self._store is not None
        return self._store

    def start_store(self) -> None:
        self._store = EmbeddedValkey(self.folder / "data")
        asyncio.run(self._store.start())
        asyncio.run(prepare(self.redis_url))

    def use_store(self, url: str) -> None:
        """Use a server that is already there."""
        self._store_url = url

    def stop_store(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            asyncio.run(store.stop())

    def start_service(self, root: Path = ROOT) -> None:
        """Start the service of the code in `root`."""
        port = self.url.rpartition(":")[2]
        self._service = self._start("service", root, TRITOND_PORT=port)
        wait_until(lambda: answers(f"{self.url}/readyz"), "the service is ready")

    def stop_service(self) -> None:
        service, self._service = self._service, None
        if service is not None:
            service.stop()

    def start_worker(self, module: str = "worker", root: Path = ROOT) -> Process:
        """Start a worker of the code in `root`; `wait_for_workers` waits until it is ready."""
        worker = self._start(module, root, TRITOND_SLOTS="2")
        self.workers.append(worker)
        return worker

    def wait_for_workers(self, count: int = 1, within_s: float = LIMIT_S) -> None:
        key = self._settings.get("TRITOND_ADMIN_KEY", "")
        with self.client(**({"authorization": f"Bearer {key}"} if key else {})) as http:
            enough = lambda: worker_count(http) >= count  # noqa: E731
            wait_until(enough, f"{count} worker(s)", self.said, within_s)
        asyncio.run(note_tried(self.redis_url))

    def stop_workers(self) -> None:
        while self.workers:
            self.workers.pop().stop()

    def stop(self) -> None:
        """Stop all parts, even if one does not stop as it should."""
        with ExitStack() as parts:
            parts.callback(self.stop_store)
            parts.callback(self.stop_service)
            for worker in self.workers:
                parts.callback(worker.stop)
            self.workers = []

    def client(self, **headers: str) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=90, headers=headers)

    def said(self) -> str:
        return "".join(log.read_text() for log in sorted(self.folder.glob("*.log")))

    def _start(self, module: str, root: Path = ROOT, **settings: str) -> Process:
        log = self.folder / f"{module}.log"
        settings = {"TRITOND_REDIS_URL": self.redis_url, **self._settings, **settings}
        return Process(log, "-m", module, cwd=root, **settings)


async def prepare(redis_url: str) -> None:
    """Give a new store this machine's earlier test results, so that its workers start sooner.

    It does not wait for the disk: many stores of tests share one, and none outlives the machine.
    """
    async with connect(redis_url) as redis:
        await redis.config_set("appendfsync", "no")
        if _TRIED.exists():
            await redis.mset(json.loads(_TRIED.read_text()))


async def note_tried(redis_url: str) -> None:
    """Record the self-test of a worker, for the stores of other tests."""
    async with connect(redis_url) as redis:
        names = [name async for name in redis.scan_iter(f"{keys.TARGETS_TRIED}*")]
        tried = {name.decode(): (await redis.get(name)).decode() for name in names}
    if tried and (not _TRIED.exists() or json.loads(_TRIED.read_text()) != tried):
        _TRIED.parent.mkdir(parents=True, exist_ok=True)
        new = _TRIED.with_suffix(f".{os.getpid()}")
        new.write_text(json.dumps(tried))
        new.rename(_TRIED)  # other tests may be reading it


def free_port() -> int:
    """Return a port that is free and stays reserved while these tests run.

    A socket that is bound but does not listen reserves it. Our servers may listen there
    repeatedly; connections before that are refused.
    """
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    _PORTS.append(held)
    port: int = held.getsockname()[1]
    return port


def ended(client: httpx.Client, url: str) -> dict[str, Any]:
    """Wait without a limit for the job at `url` to end, and return it."""

    def is_over() -> bool:
        state = client.get(url, params={"wait": 30}).json()["state"]
        return state not in {"queued", "running"}

    wait_until(is_over, f"{url} has ended")
    found: dict[str, Any] = client.get(url).json()
    return found


def worker_count(http: httpx.Client) -> int:
    counts: dict[str, int] = http.get("/v1/system").json()["workers"]
    return counts["compile"]


def answers(url: str) -> bool:
    try:
        return httpx.get(url).is_success
    except httpx.TransportError:
        return False
