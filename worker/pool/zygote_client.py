"""The worker's side of one zygote: starts it, orders children, learns how they and it ended."""

import asyncio
import itertools
import logging
import os
import socket
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from worker.cancellation import run_to_end
from worker.pool import zygote_start
from worker.pool.child_outcome import Caps, Usage
from worker.pool.child_process import ChildProcess
from worker.pool.zygote import BOOTSTRAP
from worker.pool.zygote_start import Settings
from worker.sandbox.cgroup import Cgroup
from worker.sandbox.profile import PROFILES
from worker.sandbox.rlimits import ResourceLimits

_ENVIRONMENT = {"PYTHONHASHSEED": "0"}
_LEAVE_S = 5.0
_MAX_WAITS = 5
"""A late zygote gets more time: on an overloaded machine a new one would be later still."""

_log = logging.getLogger(__name__)


class ZygoteError(Exception):
    """The zygote did not start, or is gone; the message has what it wrote last."""


@dataclass(frozen=True, slots=True)
class ZygoteToolchain:
    """A zygote's Python, the path of our source, and the module with the tasks."""

    python: Path
    root: Path
    tasks_module: str = "compiler.front.tasks"
    unsafe: bool = False
    """True: no file and no system call is denied to children.

    For machines without Landlock or seccomp only.
    """
    limits: dict[str, ResourceLimits] = field(default_factory=dict)
    """Limits by profile; the profile's own where absent."""
    cgroup: Cgroup | None = None
    """The cgroup that bounds memory and processes of all children together."""
    environment: dict[str, str] = field(default_factory=dict)
    """Added to the zygote's environment, which is otherwise almost empty. Never anything secret."""
    start_s: float = 60.0
    """The time limit of importing and warming up; a busy machine gets longer."""


class ZygoteClient:
    """One running zygote and all its living children."""

    def __init__(self, caps: Caps, on_lost: Callable[["ZygoteClient"], None]) -> None:
        self.facts: dict[str, Any] = {}
        self._caps = caps
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._numbers = itertools.count(1)
        self._children: dict[int, ChildProcess] = {}
        self._started: asyncio.Future[None] = self._loop.create_future()
        self._link: socket.socket | None = None
        self._process: asyncio.subprocess.Process | None = None

    @property
    def alive(self) -> bool:
        """True if the zygote takes orders."""
        return self._link is not None and self._started.done()

    @property
    def pid(self) -> int | None:
        """The zygote's process id."""
        return None if self._process is None else self._process.pid

    async def open(self, toolchain: ZygoteToolchain) -> None:
        """Start the zygote and wait until it is warm. Raises ZygoteError.

        Must run in a thread that lives as long as the zygote shall: the kernel kills it
        when that thread ends.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        self._link = ours
        group = toolchain.cgroup.entrances if toolchain.cgroup is not None else []
        settings = Settings(
            toolchain.tasks_module, os.getpid(), toolchain.unsafe, toolchain.limits, group
        )
        try:
            with theirs:
                await run_to_end(self._spawn(toolchain, settings, theirs))
            self._loop.add_reader(ours, self._listen)
            await self._wait_until_warm(toolchain)
        except (ZygoteError, asyncio.CancelledError):
            self._started.cancel()
            await run_to_end(self.close())
            raise

    async def _spawn(
        self, toolchain: ZygoteToolchain, settings: Settings, theirs: socket.socket
    ) -> None:
        try:
            self._process = await asyncio.create_subprocess_exec(
                *(toolchain.python, "-s", "-P", "-c", BOOTSTRAP),
                *(toolchain.root, str(theirs.fileno()), settings.to_json()),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={**_ENVIRONMENT, **toolchain.environment},
                cwd="/",
                pass_fds=[theirs.fileno()],
            )
        except OSError as error:
            raise ZygoteError(
                f"cannot run {toolchain.python}: {error.strerror}; if TRITOND_TOOLCHAINS lists it, "
                "write the absolute path of a Python there"
            ) from error

    async def _wait_until_warm(self, toolchain: ZygoteToolchain) -> None:
        """Wait until the zygote is warm; log if it is late. Raises ZygoteError."""
        name, start_s = f"the zygote of {toolchain.tasks_module}", toolchain.start_s
        for waits in range(1, _MAX_WAITS + 1):
            await asyncio.wait([self._started], timeout=start_s)
            if self._started.done():
                return self._started.result()
            if waits < _MAX_WAITS:
                _log.warning(
                    "%s is not warm after %g s; waiting on, as it is alive", name, waits * start_s
                )
        raise ZygoteError(f"{name} was not warm after {_MAX_WAITS * start_s:g} s")

    def order(self, profile: str, shared: Sequence[int] = ()) -> ChildProcess:
        """Order a child; it can be given its job at once. Raises ZygoteError, ValueError.

        It maps the files behind the descriptors `shared`, which stay the caller's to close.
        """
        if profile not in PROFILES:
            raise ValueError(f"no profile {profile!r}; there are {', '.join(PROFILES)}")
        if self._link is None:
            raise ZygoteError("the zygote is gone")
        number = next(self._numbers)
        child = ChildProcess(profile, self._caps)
        self._children[number] = child
        ends = child.take_ends()
        try:
            message = {"order": number, "profile": profile}
            zygote_start.send(self._link, message, [*ends, *shared])
        except OSError:
            self._lose()  # it does not read, or is not there
        finally:
            for end in ends:
                os.close(end)
        return child

    async def close(self) -> None:
        """End the zygote and every child, and wait until they are gone."""
        self._lose()
        if self._process is None:
            return
        try:
            async with asyncio.timeout(_LEAVE_S):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    def _listen(self) -> None:
        while self._link is not None:
            try:
                message, descriptors = zygote_start.receive(self._link)
            except BlockingIOError:
                return
            if message is None:
                self._lose()
                return
            self._take(message, descriptors)

    def _take(self, message: dict[str, Any], descriptors: list[int]) -> None:
        match message:
            case {"ready": facts}:
                self.facts = facts
                self._started.set_result(None)
            case {"broken": traceback}:
                self._started.set_exception(ZygoteError(f"the zygote did not start:\n{traceback}"))
            case {"born": number} if number in self._children:
                self._children[number].set_handle(descriptors.pop())
            case {"refused": number} if number in self._children:
                self._children.pop(number).set_exit(None, None)
            case {"gone": number, "status": status, "cpu_s": cpu_s, "max_rss_bytes": rss}:
                if number in self._children:
                    self._children.pop(number).set_exit(status, Usage(cpu_s, rss))
        for descriptor in descriptors:
            os.close(descriptor)

    def _lose(self) -> None:
        """Drop the zygote, and wake all that wait for it or for one of its children."""
        link, self._link = self._link, None
        if link is None:
            return
        self._loop.remove_reader(link)
        link.close()
        if not self._started.done():
            self._started.set_exception(ZygoteError("the zygote ended before it was warm"))
        children, self._children = self._children, {}
        for child in children.values():
            child.set_exit(None, None)
        self._on_lost(self)
