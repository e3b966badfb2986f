"""One launcher as the worker sees it: started, given jobs, killed at a deadline, reaped.

Runs in the worker, which never imports CUDA.
"""

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from jobs.work_context import job_id
from worker.cancellation import run_to_end
from worker.code_digest import ROOT
from worker.gpu.launcher.launcher import BOOTSTRAP
from worker.gpu.supervisor.launcher_protocol import (
    LaunchEnding,
    LauncherFacts,
    LauncherProtocol,
    LaunchOutcome,
)
from worker.gpu.supervisor.result_channel import ResultChannel
from worker.pool import frame

_PASSED = ("PATH", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")
_OUTPUT_BYTES = 64 << 10
"""Limit on the kept output of kernels."""
_LAST_WORDS_BYTES = 4 << 10
_MAX_PRINTED_BYTES = 8 << 20
logger = logging.getLogger(__name__)


class Order(Protocol):
    """An order for a launcher."""

    def to_frame(self) -> tuple[dict[str, Any], bytes]:
        """Return the header and the body of its frame."""


@dataclass(frozen=True, slots=True)
class EncodedOrder:
    """A frame, and the nonce that the answers to it have. To be sent once."""

    nonce: bytes
    data: bytes


class LauncherError(Exception):
    """A launcher did not start; the message holds its own last words."""


@dataclass(frozen=True, slots=True)
class InputsBudget:
    """Limits on a launcher's cached inputs, in bytes."""

    gpu_bytes: int | None = None
    """The GPU's memory for initial contents; None: the launcher decides."""
    host_bytes: int = 1 << 30

    @property
    def arguments(self) -> tuple[int, int]:
        """The order of a launcher."""
        return (-1 if self.gpu_bytes is None else self.gpu_bytes, self.host_bytes)


@dataclass(frozen=True, slots=True)
class LauncherCommand:
    """The command that starts launchers. `bootstrap` is the program of the interpreter's `-c`."""

    python: Path = Path(sys.executable)
    root: Path = ROOT
    bootstrap: str = BOOTSTRAP
    start_s: float = 60.0
    exit_s: float = 10.0
    """The seconds for a killed launcher to exit, after which its GPU counts as stuck."""
    inputs: InputsBudget = InputsBudget()
    environment: Mapping[str, str] = field(default_factory=dict)
    """Added to the little that is passed on."""

    def environ(self) -> dict[str, str]:
        """Return all that a launcher sees of the environment: nothing secret."""
        passed = {name: os.environ[name] for name in _PASSED if name in os.environ}
        fixed = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_CACHE_DISABLE": "1"}
        return passed | fixed | {"OPENBLAS_NUM_THREADS": "1"} | dict(self.environment)


@dataclass(frozen=True, slots=True)
class SentOrder:
    """A job that a launcher has, or will have when it is done with the one before."""

    nonce: bytes


class LauncherProcess:
    """One launcher of one GPU. One job at a time, the next may wait in its pipe.

    `caller` is whom it has served.
    """

    def __init__(self, command: LauncherCommand, ordinal: int) -> None:
        self.caller: str | None = None
        self.runs = 0
        self.facts: LauncherFacts | None = None
        self._command = command
        self._ordinal = ordinal
        self._process: asyncio.subprocess.Process | None = None
        self._channel = ResultChannel()
        self._output = os.memfd_create("launcher-output", os.MFD_CLOEXEC)
        self._printed_bytes = 0
        """The part of the printed bytes that comes from earlier jobs."""
        self._reports_printed = False
        self._under_way = 0

    @property
    def alive(self) -> bool:
        """True if the process is running."""
        return self._process is not None and self._process.returncode is None

    @property
    def may_send_ahead(self) -> bool:
        """True if the next job may be sent before the current one ends.

        The launcher must report where each job's output ends, and the kept output must be small:
        it is only cleared between jobs.
        """
        return self._reports_printed and self._printed_bytes < _MAX_PRINTED_BYTES

    @property
    def pid(self) -> int | None:
        """The process id."""
        return None if self._process is None else self._process.pid

    async def start(self) -> LauncherFacts:
        """Start it and wait for its context; return its report about its GPU.

        Raises LauncherError. Must run in a thread that lives as long as the launcher shall.
        """
        try:
            await run_to_end(self._spawn())
            async with asyncio.timeout(self._command.start_s):
                self.facts = _facts((await self._channel.next()).frame)
        except (TimeoutError, EOFError, OSError, frame.FrameError, KeyError, TypeError) as error:
            words = self._last_words()
            await self.close()
            raise LauncherError(f"the launcher did not start ({error!r}):\n{words}") from error
        except asyncio.CancelledError:
            await run_to_end(self.close())
            raise
        return self.facts

    async def _spawn(self) -> None:
        command, theirs = self._command, self._channel.theirs
        with theirs:
            self._process = await asyncio.create_subprocess_exec(
                *(command.python, "-s", "-P", "-c", command.bootstrap, command.root),
                *map(str, (theirs.fileno(), os.getpid(), self._ordinal)),
                *map(str, command.inputs.arguments),
                stdin=asyncio.subprocess.PIPE,
                stdout=self._output,
                stderr=self._output,
                env=command.environ(),
                cwd="/",
                pass_fds=[theirs.fileno()],
            )

    async def run(self, job: Order, deadline_s: float) -> LaunchOutcome:
        """Run one job and return how it ended; never raises for anything the launcher does.

        Raises FrameError when the job is too big to send. When the caller is cancelled the
        launcher is killed.
        """
        return await self.outcome_of(self.send(job), deadline_s)

    async def check_health(self, deadline_s: float) -> LaunchOutcome:
        """Run the health kernel."""
        return await self.outcome_of(self._send(_framed({"task": "health"})), deadline_s)

    async def measure(self, deadline_s: float) -> LaunchOutcome:
        """Measure the GPU's `ceilings`, which are in the result."""
        return await self.outcome_of(self._send(_framed({"task": "ceilings"})), deadline_s)

    def send(self, job: Order | EncodedOrder) -> SentOrder:
        """Send a job, which it begins when it is done with the one before; see `outcome_of`.

        Raises FrameError when it is too big.
        """
        return self._send(job if isinstance(job, EncodedOrder) else encode(job))

    def _send(self, order: EncodedOrder) -> SentOrder:
        if not self._under_way:
            self._forget_printed()
        self._under_way += 1
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(order.data)
        return SentOrder(order.nonce)

    async def outcome_of(self, order: SentOrder, deadline_s: float) -> LaunchOutcome:
        """Return how a job ended that was sent, once those before it have ended; see `run`.

        A second program has as long again, from when it begins.
        """
        outcome = await self._outcome_of(LauncherProtocol(order.nonce), deadline_s)
        logger.debug("job %s: run on GPU %d ended: %s", job_id(), self._ordinal, outcome.ending)
        return outcome

    async def _outcome_of(self, protocol: LauncherProtocol, deadline_s: float) -> LaunchOutcome:
        ending: tuple[LaunchEnding, str] | None = None
        try:
            async with asyncio.timeout(deadline_s) as deadline:
                await self._flush_order()
                while protocol.last is None:
                    was_beside = protocol.is_beside
                    protocol.take(await self._channel.next())
                    if protocol.is_beside and not was_beside:
                        deadline.reschedule(asyncio.get_running_loop().time() + deadline_s)
        except TimeoutError:
            ending = LaunchEnding.DEADLINE, f"still running after {deadline_s:g} s"
        except frame.FrameError as error:
            ending = LaunchEnding.GARBAGE, str(error)
        except EOFError:
            ending = await self._left()
        except asyncio.CancelledError:
            self.kill()
            raise
        self._under_way -= 1
        if ending is None:
            self._reports_printed = protocol.printed_bytes is not None
            return protocol.outcome(stdout=self._take_printed(protocol.printed_bytes))
        self.kill()
        printed = self._take_printed(None)
        return protocol.outcome(*ending, stdout=printed, signal=self._signal())

    async def _flush_order(self) -> None:
        stdin = self._process.stdin if self._process is not None else None
        if stdin is None:
            raise EOFError
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            await stdin.drain()  # one that is gone may have answered before

    async def _left(self) -> tuple[LaunchEnding, str]:
        """Return how a launcher ended that closed its channel without a last frame."""
        if not await self.gone():
            return LaunchEnding.SILENT, "it closed its channel and went on"
        if (number := self._signal()) is not None:
            return LaunchEnding.SIGNAL, f"killed by signal {number}"
        status = self._process.returncode if self._process is not None else None
        return LaunchEnding.SILENT, f"exit status {status} without a last frame"

    def _signal(self) -> int | None:
        status = self._process.returncode if self._process is not None else None
        return -status if status is not None and status < 0 else None

    def kill(self) -> None:
        """End it now, whatever its kernel does. `gone` is set when it has ended."""
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGKILL)

    async def gone(self) -> bool:
        """Wait for its end, for a while. False: it is stuck in the driver."""
        if self._process is None:
            return True
        try:
            async with asyncio.timeout(self._command.exit_s):
                await self._process.wait()
        except TimeoutError:
            return False
        return True

    async def close(self) -> bool:
        """Kill it, wait for its end and let go of it. False: it is stuck in the driver."""
        self.kill()
        is_gone = await self.gone()
        self._channel.close()
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
        if self._output >= 0:
            os.close(self._output)
            self._output = -1
        return is_gone

    def _last_words(self) -> str:
        if self._output < 0:  # `close` was called while it started
            return ""
        return os.pread(self._output, _LAST_WORDS_BYTES, 0).decode(errors="replace")

    def _forget_printed(self) -> None:
        os.ftruncate(self._output, 0)
        os.lseek(self._output, 0, os.SEEK_SET)  # the launcher writes through the same offset
        self._printed_bytes = 0

    def _take_printed(self, end: int | None) -> bytes:
        """Return what the job printed that ended at `end`, None where it was the last."""
        start, size = self._printed_bytes, os.fstat(self._output).st_size
        end = size if end is None else max(start, min(end, size))
        self._printed_bytes = end
        return os.pread(self._output, min(end - start, _OUTPUT_BYTES), start)


def _facts(first: frame.Frame) -> LauncherFacts:
    if first.header.get("kind") != "ready" or first.nonce != frame.NO_JOB:
        raise frame.FrameError(f"a first frame of kind {first.header.get('kind')!r}")
    return LauncherFacts.from_json(first.header["facts"])


def encode(job: Order) -> EncodedOrder:
    """Return a job as it is sent. Raises FrameError when it is too big."""
    return _framed(*job.to_frame())


def _framed(header: dict[str, Any], body: bytes = b"") -> EncodedOrder:
    """Return an order of this header and body. Raises FrameError when it is too big."""
    nonce = os.urandom(frame.NONCE_BYTES)
    return EncodedOrder(nonce, frame.encode(nonce, header, body))
