"""Stores as they run away from home: replicas, Sentinels, TLS, ACL users, a sharded cluster.

Collected by `make test-servers` only: a failover takes seconds. The servers are the embedded
Valkey's, started by hand on loopback.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
import redis

from store.embedded import bound_to_parent, find_server
from tests.integration.service.running import HERE, Place, free_port
from tests.waiting import wait_until

collect_ignore_glob = [] if os.environ.get("TRITOND_TEST_SERVERS") else ["test_*.py"]
MASTER = "mymaster"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "servers: stores as they run away from home")


class Server:
    """A server of Redis's protocol as a process, on one port of loopback or of another machine."""

    def __init__(
        self,
        folder: Path,
        *options: str,
        sentinel: bool = False,
        binary: str | None = None,
        place: Place = HERE,
    ) -> None:
        self.port = free_port()
        self.folder = folder
        self.place = place
        self._options = options
        self._sentinel = sentinel
        self._binary = binary or str(find_server())
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://{self.place.address}:{self.port}/0"

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        settings = self.folder / "server.conf"
        if not settings.exists():  # Sentinels write what they learn into theirs
            where = (f"port {self.port}", f"bind {self.place.address}", f"dir {self.folder}")
            settings.write_text("\n".join((*where, *self._options)))
        mode = ["--sentinel"] if self._sentinel else []
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                bound_to_parent(*self.place.prefix, self._binary, str(settings), *mode),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def wait_until_it_answers(self) -> None:
        wait_until(self.answers, "the server answers", (self.folder / "server.log").read_text)

    def client(self) -> redis.Redis:
        return redis.Redis(
            self.place.address, self.port, socket_timeout=2, socket_connect_timeout=2
        )

    def get(self, key: str) -> bytes | None:
        with self.client() as client:
            found: bytes | None = client.get(key)
        return found

    def answers(self) -> bool:
        with suppress(redis.RedisError), self.client() as client:
            return bool(client.ping())
        return False

    def still_runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def pause(self) -> None:
        """Have it answer nothing more, on open connections and new ones."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        if self._process is not None:
            self.resume()
            self.kill()


class Replicated:
    """A master, two replicas, and three Sentinels that watch them; one of each at each place."""

    def __init__(self, folder: Path, places: Sequence[Place] = (HERE,) * 3) -> None:
        durable = ("appendonly yes", 'save ""', "repl-diskless-sync-delay 0", "protected-mode no")
        first, *others = places
        self.servers = [Server(folder / "first", *durable, place=first)]
        master = f"{first.address} {self.servers[0].port}"
        self.servers += [
            Server(folder / f"replica-{n}", *durable, f"replicaof {master}", place=place)
            for n, place in enumerate(others)
        ]
        watch = (
            f"sentinel monitor {MASTER} {master} 2",
            f"sentinel down-after-milliseconds {MASTER} 2000",
            f"sentinel failover-timeout {MASTER} 10000",
            "protected-mode no",
        )
        self.sentinels = [
            Server(folder / f"sentinel-{n}", *watch, sentinel=True, place=place)
            for n, place in enumerate(places)
        ]

    @property
    def url(self) -> str:
        hosts = ",".join(f"{each.place.address}:{each.port}" for each in self.sentinels)
        return f"redis+sentinel://{hosts}/{MASTER}/0"

    def start(self) -> None:
        for server in self.servers:
            server.start()
        wait_until(self._has_replicas, "the replicas follow")
        for sentinel in self.sentinels:
            sentinel.start()
        wait_until(self._is_watched, "the Sentinels know the replicas and each other")

    def master(self) -> Server:
        """Return the server that most Sentinels name: one that was cut off names an earlier one."""
        return wait_until(self._agreed_master, "two Sentinels name the same master")

    def _agreed_master(self) -> Server | None:
        named: Counter[int] = Counter()
        for sentinel in self.sentinels:
            with suppress(redis.RedisError), sentinel.client() as client:
                named[int(client.sentinel_get_master_addr_by_name(MASTER)[1])] += 1
        return next((each for each in self.servers if named[each.port] > 1), None)

    def pause_replicas(self) -> None:
        for server in self.servers[1:]:
            server.pause()

    def resume_replicas(self) -> None:
        for server in self.servers[1:]:
            server.resume()

    def stop(self) -> None:
        for server in (*self.sentinels, *self.servers):
            server.stop()

    def _has_replicas(self) -> bool:
        with suppress(redis.RedisError), self.servers[0].client() as client:
            found = client.info("replication")
            return all(found.get(f"slave{n}", {}).get("state") == "online" for n in range(2))
        return False

    def _is_watched(self) -> bool:
        with suppress(redis.RedisError):
            for sentinel in self.sentinels:
                with sentinel.client() as client:
                    state = client.sentinel_master(MASTER)
                if (state["num-slaves"], state["num-other-sentinels"]) != (2, 2):
                    return False
            return True
        return False


@pytest.fixture
def replicated(tmp_path: Path) -> Iterator[Replicated]:
    """Start new servers for each test, since a failover cannot be undone."""
    servers = Replicated(tmp_path)
    try:
        servers.start()
        yield servers
    finally:
        servers.stop()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Start one server with these lines of its configuration."""
    started: list[Server] = []

    def start(*options: str, binary: str | None = None) -> Server:
        server = Server(tmp_path / f"server-{len(started)}", *options, binary=binary)
        started.append(server)
        server.start()
        return server

    yield start
    for server in started:
        server.stop()
