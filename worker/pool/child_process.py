"""The worker's side of one child: its job, its deadline, its death.

Hostile code may have written all that arrives, so sizes are checked before bytes are kept.
"""

import asyncio
import contextlib
import fcntl
import os
import signal
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Any

from worker.pool import frame
from worker.pool.child_outcome import (
    UNPARSED_TASKS,
    Caps,
    ChildOutcome,
    ChildUse,
    Ending,
    SentStage,
    Usage,
)
from worker.pool.child_protocol import ChildProtocol

_EXIT_WAIT_S = 5.0
_WHOLE_GROUP = 4  # PIDFD_SIGNAL_PROCESS_GROUP, Linux 6.9

OnStage = Callable[[SentStage], None]
MoreTime = Callable[[], Awaitable[float]]
"""Called when a child's time is over; returns how many more seconds it may have."""
_READ_BYTES = 1 << 18
_PIPE_BYTES = 1 << 20


class _CapturedOutput:
    """The first bytes of one stream."""

    def __init__(self, descriptor: int, most_bytes: int) -> None:
        self.descriptor = descriptor
        self._first = bytearray()
        self._most_bytes = most_bytes
        self._size_bytes = 0

    def take(self, data: bytes) -> None:
        """Add the next bytes, up to the limit."""
        self._size_bytes += len(data)
        self._first += data[: self._most_bytes - len(self._first)]

    def clear(self) -> None:
        """Forget them."""
        self._first.clear()
        self._size_bytes = 0

    @property
    def text(self) -> bytes:
        """The first bytes, and a line with how many are missing."""
        missing = self._size_bytes - len(self._first)
        note = f"\n[{missing} more bytes were not kept]\n" if missing else ""
        return bytes(self._first) + note.encode()


@dataclass(frozen=True, slots=True)
class Job:
    """The job of a child."""

    header: dict[str, Any]
    body: bytes
    stages: Collection[str] = ()
    """The names that it may send bytes under, each once."""
    on_stage: OnStage | None = None
    more_s: MoreTime | None = None
    """Called when the time is over; returns how many more seconds the child may have."""


class ChildProcess:
    """One child from its order to its end. Runs one job, or one after the other if it is kept."""

    def __init__(self, profile: str, caps: Caps) -> None:
        self.profile = profile
        self._loop = asyncio.get_running_loop()
        self.outcome: asyncio.Future[ChildOutcome] = self._loop.create_future()
        self.use = ChildUse(self._loop.time())
        self._caps = caps
        self._on_stage: OnStage | None = None
        self._more_s: MoreTime | None = None
        self._asking: asyncio.Task[None] | None = None
        self._on_prewarmed: Callable[[], None] | None = None
        self._protocol = ChildProtocol(self._after_prewarm, self._announce)
        self._pipes = _ChildPipes(caps.kept_output_bytes)
        self._pipes.listen(self._read_result, self._read_output)
        self._pidfd: int | None = None
        self._result_bytes = 0
        self._output_bytes = 0
        self._cause: tuple[Ending, str] | None = None
        self._timers: list[asyncio.TimerHandle] = []
        self._closed = False
        self._prewarming = False
        self._has_job = False
        self._keep = False

    @property
    def readiness(self) -> int:
        """Readiness for a job: 2 prepared, 1 just forked, 0 busy preparing."""
        return 2 if self._protocol.prewarmed else 0 if self._prewarming else 1

    def take_ends(self) -> list[int]:
        """Return the child's ends of the pipes; the caller must close them."""
        ends, self._pipes.ends_of_child = self._pipes.ends_of_child, []
        return ends

    def prewarm(self, on_prewarmed: Callable[[], None]) -> None:
        """Let it prepare while it is idle, then call `on_prewarmed`. Not after `start`."""
        self._prewarming = True
        self._on_prewarmed = on_prewarmed
        self._pipes.send(frame.encode(frame.NO_JOB, {}), is_last=False)

    def set_handle(self, pidfd: int) -> None:
        """Take the handle that can kill this child, which was just forked."""
        if self._closed:
            _kill_tree(pidfd)
            os.close(pidfd)
            return
        self._pidfd = pidfd
        if self._cause is not None:
            _kill_tree(pidfd)

    def start(self, job: Job, deadline_s: float, *, keep: bool = False) -> None:
        """Send the job; `outcome` will be how it ended. With `keep` the child awaits another.

        After `deadline_s` it is killed, unless `more_s` grants further seconds. Raises FrameError
        when it is too big to send.
        """
        if self.readiness == 0:
            self._read_result()  # it may have prepared, and not have been heard yet
        self._has_job = True
        nonce = os.urandom(frame.NONCE_BYTES)
        header = job.header | ({"keep": True} if keep else {})
        most = frame.MAX_JOB_HEADER_BYTES
        encoded = frame.encode(nonce, header, job.body, max_header_bytes=most)
        self._keep = keep
        parsed = len(encoded) - (len(job.body) if job.header.get("task") in UNPARSED_TASKS else 0)
        self.use.begin(parsed, self._loop.time())
        self._protocol.begin(nonce, job.stages)
        self._on_stage = job.on_stage
        self._more_s = job.more_s
        self._timers.append(self._loop.call_later(deadline_s, self._expire, deadline_s))
        if not self.outcome.done():
            self._pipes.send(encoded, is_last=not keep)

    def _expire(self, allowed_s: float) -> None:
        if self._more_s is None:
            self.kill(Ending.DEADLINE, f"still running after {round(allowed_s, 2):g} s")
        else:
            self._asking = self._loop.create_task(
                self._ask_for_more(self._more_s, allowed_s, self.outcome)
            )

    async def _ask_for_more(
        self, more_s: MoreTime, allowed_s: float, outcome: asyncio.Future[ChildOutcome]
    ) -> None:
        seconds = await more_s()
        if outcome.done():
            return
        if seconds > 0:
            allowed_s += seconds
            self._timers.append(self._loop.call_later(seconds, self._expire, allowed_s))
        else:
            self.kill(Ending.DEADLINE, f"still running after {round(allowed_s, 2):g} s")

    def renew(self) -> None:
        """Get ready for another job, with a new `outcome`, after the last one ended well."""
        self.outcome = self._loop.create_future()
        self._protocol = ChildProtocol(self._after_prewarm, self._announce)
        self._protocol.ready = self._protocol.prewarmed = True
        self._result_bytes = self._output_bytes = 0
        for output in self._pipes.outputs:
            output.clear()
        self._on_stage = None

    def kill(self, ending: Ending, detail: str) -> None:
        """Kill the child for this reason; the first reason counts.

        `outcome` follows when it is dead.
        """
        if self._cause is not None or self._closed:
            return
        self._cause = ending, detail
        if self._pidfd is not None:
            _kill_tree(self._pidfd)
        self._timers.append(self._loop.call_later(_EXIT_WAIT_S, self.set_exit, None, None))

    def set_exit(self, status: int | None, usage: Usage | None) -> None:
        """Settle the outcome, if it is not yet: the child is dead.

        `status` is its wait status, None where that is not known.
        """
        while not self.outcome.done() and self._read_result():
            pass
        if not self.outcome.done():
            self._settle(status, usage)
        self._close()

    def _settle(self, status: int | None, usage: Usage | None) -> None:
        """Make the outcome. Unless the child is kept, kill all its processes."""
        self._drain_outputs()
        ending, detail = self._cause or self._protocol.verdict(status)
        last = self._protocol.last
        self.use.end(self._loop.time())
        self.outcome.set_result(
            ChildOutcome(
                ending=ending,
                detail=detail,
                stages=tuple(self._protocol.stages),
                result=last if ending is Ending.OK else None,
                failure=last if ending is Ending.FAILURE else None,
                stdout=self._pipes.stdout.text,
                stderr=self._pipes.stderr.text,
                signal=os.WTERMSIG(status) if status and os.WIFSIGNALED(status) else None,
                exit_status=None if status is None else os.waitstatus_to_exitcode(status),
                usage=usage or self._protocol.usage,
            )
        )
        if self._keep and ending in (Ending.OK, Ending.FAILURE):
            self._cancel_timers()
        else:
            self._close()

    def _read_result(self) -> bool:
        data = self._pipes.read_result()
        if data is None:
            return False
        if not data and self._is_complete():
            self._settle(0, None)
        self._result_bytes += len(data)
        if self._result_bytes > self._caps.result_bytes:
            self.kill(Ending.FLOOD, f"more than {self._caps.result_bytes} bytes of result")
        if self._cause is None:
            try:
                self._protocol.feed(data)
            except frame.FrameError as error:
                self.kill(Ending.GARBAGE, str(error))
        if self._keep and self._is_complete():
            self._settle(0, None)  # it stays, so its stream does not end
        return bool(data) and self._result_bytes <= self._caps.result_bytes

    def _is_complete(self) -> bool:
        return self._protocol.complete and self._cause is None and not self.outcome.done()

    def _read_output(self, output: _CapturedOutput) -> bool:
        data = self._pipes.read_output(output)
        self._output_bytes += len(data)
        if self._output_bytes > self._caps.output_bytes:
            self.kill(Ending.FLOOD, f"more than {self._caps.output_bytes} bytes of output")
        return bool(data) and self._output_bytes <= self._caps.output_bytes

    def _drain_outputs(self) -> None:
        for output in self._pipes.outputs:
            while self._read_output(output):
                pass

    def _after_prewarm(self) -> None:
        if not self._has_job:  # else what was printed may be the job's
            self._drain_outputs()
            for output in self._pipes.outputs:
                output.clear()
            self._output_bytes = 0
        if self._on_prewarmed is not None:
            self._on_prewarmed()

    def _announce(self, stage: SentStage) -> None:
        if self._on_stage is not None:
            self._on_stage(stage)

    def _cancel_timers(self) -> None:
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()

    def _close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._cancel_timers()
        self._pipes.close()
        if self._pidfd is not None:
            _kill_tree(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None


def _kill_tree(pidfd: int) -> None:
    """Kill the child and the group it leads.

    Older kernels cannot name the group so: there the zygote kills it.
    """
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    with contextlib.suppress(OSError):
        signal.pidfd_send_signal(pidfd, signal.SIGKILL, None, _WHOLE_GROUP)


# The worker's ends of the pipes of one child: its jobs, its result, its output.
#
# They count and bound the bytes that arrive; `ChildProtocol` parses them.


class _ChildPipes:
    """Four pipes, none of which ever blocks the worker."""

    def __init__(self, kept_output_bytes: int) -> None:
        """Open the pipes; of each output `kept_output_bytes` are kept.

        `ends_of_child` are to be handed to the child, and closed here then.
        """
        self._loop = asyncio.get_running_loop()
        job_end, self._job = os.pipe2(os.O_CLOEXEC)
        self._result, result_end = os.pipe2(os.O_CLOEXEC)
        stdout, stdout_end = os.pipe2(os.O_CLOEXEC)
        stderr, stderr_end = os.pipe2(os.O_CLOEXEC)
        self.ends_of_child = [job_end, result_end, stdout_end, stderr_end]
        with contextlib.suppress(PermissionError):  # this user's share of pipe memory is used up
            for pipe in (self._result, self._job):
                fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self.stdout = _CapturedOutput(stdout, kept_output_bytes)
        self.stderr = _CapturedOutput(stderr, kept_output_bytes)
        for descriptor in (self._job, self._result, stdout, stderr):
            os.set_blocking(descriptor, False)
        self._unsent = memoryview(b"")
        self._is_last = False

    @property
    def outputs(self) -> tuple[_CapturedOutput, _CapturedOutput]:
        """Both."""
        return self.stdout, self.stderr

    def listen(
        self, on_result: Callable[[], object], on_output: Callable[[_CapturedOutput], object]
    ) -> None:
        """Call these whenever there is something to read."""
        self._loop.add_reader(self._result, on_result)
        for output in self.outputs:
            self._loop.add_reader(output.descriptor, on_output, output)

    def send(self, data: bytes, *, is_last: bool) -> None:
        """Write `data` to the child as it reads; after the last of it the pipe is closed."""
        self._unsent = memoryview(data)
        self._is_last = is_last
        self._write()

    def _write(self) -> None:
        try:
            while self._unsent:
                self._unsent = self._unsent[os.write(self._job, self._unsent) :]
        except BlockingIOError:
            self._loop.add_writer(self._job, self._write)
            return
        except BrokenPipeError:
            self._unsent = memoryview(b"")  # it is dead; its exit status will show how
        self._loop.remove_writer(self._job)
        if self._is_last:
            self._close_job()

    def read_result(self) -> bytes | None:
        """Return the bytes of the result that have arrived: see `_read`."""
        return self._read(self._result)

    def read_output(self, output: _CapturedOutput) -> bytes:
        """Return the bytes of an output that have arrived, and keep them up to the limit."""
        data = self._read(output.descriptor) or b""
        output.take(data)
        return data

    def _read(self, descriptor: int) -> bytes | None:
        """Return the bytes that have arrived; None if none have.

        Returns b"" at the end, and stops watching the descriptor.
        """
        try:
            data = os.read(descriptor, _READ_BYTES)
        except BlockingIOError:
            return None
        if not data:
            self._loop.remove_reader(descriptor)
        return data

    def _close_job(self) -> None:
        if self._job >= 0:
            self._loop.remove_writer(self._job)
            os.close(self._job)
            self._job = -1

    def close(self) -> None:
        """Close all of the worker's ends. Once only."""
        self._close_job()
        for descriptor in (self._result, *(output.descriptor for output in self.outputs)):
            self._loop.remove_reader(descriptor)
            os.close(descriptor)
