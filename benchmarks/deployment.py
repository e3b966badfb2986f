"""Starts a tritond for a benchmark: Valkey, services and a worker on free ports.

Data and scratch files are in a new folder under the checkout's `.cache`; `stop` ends everything.
"""

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Self

from store.connection import connect
from store.embedded import EmbeddedValkey, bound_to_parent
from store.workers import Workers

ROOT = Path(__file__).parent.parent
READY_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 10.0


class Server:
    """One process that listens on its own port."""

    def __init__(self, *arguments: str, port: int, environment: dict[str, str]) -> None:
        self.port = port
        command = bound_to_parent(sys.executable, *arguments)
        self._process = subprocess.Popen(command, cwd=ROOT, env=os.environ | environment)

    @property
    def is_alive(self) -> bool:
        """True if its process has not ended."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def wait_until_it_listens(self) -> None:
        """Wait until it accepts connections. Raises RuntimeError if it never does."""
        deadline = time.monotonic() + READY_TIMEOUT_S
        while time.monotonic() < deadline and self.is_alive:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
            except ConnectionRefusedError:
                time.sleep(0.05)
            else:
                return
        raise RuntimeError(f"nothing listens on port {self.port}; see the log above")

    def stop(self) -> None:
        """End the process."""
        self._process.terminate()
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Deployment:
    """Valkey and a worker; `serve` adds a service. Use it with `with`."""

    def __init__(self, worker: str = "worker") -> None:
        """`worker` is the module that runs as the worker."""
        self._worker_module = worker
        (ROOT / ".cache").mkdir(exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix="bench-", dir=ROOT / ".cache"))
        self._valkey = EmbeddedValkey(self.folder)
        self._servers: list[Server] = []

    @property
    def redis_url(self) -> str:
        """The URL of its Valkey."""
        return self._valkey.url

    def __enter__(self) -> Self:
        try:
            asyncio.run(self._valkey.start())
            self.worker = self.start("-m", self._worker_module, listens=False)
            asyncio.run(self._wait_for(self.worker))
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def _stop(self) -> None:
        for server in reversed(self._servers):
            server.stop()
        asyncio.run(self._valkey.stop())
        shutil.rmtree(self.folder)

    def serve(self, **settings: object) -> Server:
        """Start a service with `settings` (as in its settings, without the prefix)."""
        return self.start("-m", "service", **settings)

    def start(self, *arguments: str, listens: bool = True, **settings: object) -> Server:
        """Start a Python process; `{port}` in an argument is its port."""
        port = _free_port()
        environment = {"TRITOND_REDIS_URL": self.redis_url, "TRITOND_PORT": str(port)}
        environment |= {f"TRITOND_{name.upper()}": str(value) for name, value in settings.items()}
        arguments = tuple(argument.format(port=port) for argument in arguments)
        server = Server(*arguments, port=port, environment=environment)
        self._servers.append(server)
        if listens:
            server.wait_until_it_listens()
        return server

    async def _wait_for(self, worker: Server) -> None:
        redis = connect(self.redis_url)
        async with asyncio.timeout(READY_TIMEOUT_S):
            while not await Workers(redis).list():
                if not worker.is_alive:
                    raise RuntimeError("the worker ended; see the log above")
                await asyncio.sleep(0.1)
        await redis.aclose()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port
