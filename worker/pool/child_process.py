"""The worker's hands on one child: its pipes, its deadline, its death.

What arrives was possibly written by hostile code, so it is counted before it is kept; what it means
is `conversation`'s.
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
from worker.pool.child_outcome import Caps, ChildOutcome, ChildUse, Ending, Stage, Usage
from worker.pool.child_protocol import ChildProtocol

_READ_BYTES = 1 << 18
_PIPE_BYTES = 1 << 20
_EXIT_WAIT_S = 5.0
_WHOLE_GROUP = 4  # PIDFD_SIGNAL_PROCESS_GROUP, Linux 6.9

OnStage = Callable[[Stage], None]
MoreTime = Callable[[], Awaitable[float]]
"""Asked when a child's time is over: how many seconds it has after all, 0 for none."""


class _Output:
    """The first bytes of one stream."""

    def __init__(self, descriptor: int, most_bytes: int) -> None:
        self.descriptor = descriptor
        self._kept = bytearray()
        self._most_bytes = most_bytes
        self._size_bytes = 0

    def take(self, data: bytes) -> None:
        self._size_bytes += len(data)
        self._kept += data[: self._most_bytes - len(self._kept)]

    def clear(self) -> None:
        self._kept.clear()
        self._size_bytes = 0

    @property
    def kept(self) -> bytes:
        missing = self._size_bytes - len(self._kept)
        said = f"\n[{missing} more bytes were not kept]\n" if missing else ""
        return bytes(self._kept) + said.encode()


@dataclass(frozen=True, slots=True)
class Job:
    """What a child is to do."""

    header: dict[str, Any]
    body: bytes
    stages: Collection[str] = ()
    """The names that it may send bytes under, each once."""
    on_stage: OnStage | None = None
    more_s: MoreTime | None = None
    """Asked when the time is over: how many seconds more it may have."""


class ChildProcess:
    """One child from its order to its end. Runs one job, or one after the other if it is kept."""

    def __init__(self, profile: str, caps: Caps) -> None:
        self.profile = profile
        self.outcome: asyncio.Future[ChildOutcome] = asyncio.get_running_loop().create_future()
        self._loop = asyncio.get_running_loop()
        self._caps = caps
        self._on_stage: OnStage | None = None
        self._more_s: MoreTime | None = None
        self._asking: asyncio.Task[None] | None = None
        self._on_touched: Callable[[], None] | None = None
        self._said = ChildProtocol(self._after_touch, self._announce)
        self._open_pipes()
        self._pidfd: int | None = None
        self._unsent = memoryview(b"")
        self._result_bytes = 0
        self._output_bytes = 0
        self._cause: tuple[Ending, str] | None = None
        self._timers: list[asyncio.TimerHandle] = []
        self._closed = False
        self._touching = False
        self._keep = False
        self.service = ChildUse(self._loop.time())

    @property
    def eagerness(self) -> int:
        """How soon it would get to a job: 2 prepared, 1 as it was forked, 0 busy preparing."""
        return 2 if self._said.touched else 0 if self._touching else 1

    def touch(self, on_touched: Callable[[], None]) -> None:
        """Let it prepare: there is time. `on_touched` is called when it has. Not after `start`."""
        self._touching = True
        self._on_touched = on_touched
        self._unsent = memoryview(frame.encode(frame.NO_JOB, {}))
        self._write_job()

    def _open_pipes(self) -> None:
        job_end, self._job = os.pipe2(os.O_CLOEXEC)
        self._result, result_end = os.pipe2(os.O_CLOEXEC)
        stdout, stdout_end = os.pipe2(os.O_CLOEXEC)
        stderr, stderr_end = os.pipe2(os.O_CLOEXEC)
        self.ends_of_child = [job_end, result_end, stdout_end, stderr_end]
        with contextlib.suppress(PermissionError):  # this user's share of pipe memory is used up
            fcntl.fcntl(self._result, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self._outputs = [_Output(end, self._caps.kept_output_bytes) for end in (stdout, stderr)]
        for descriptor in (self._job, self._result, stdout, stderr):
            os.set_blocking(descriptor, False)
        self._loop.add_reader(self._result, self._read_result)
        for output in self._outputs:
            self._loop.add_reader(output.descriptor, self._read_output, output)

    def born(self, pidfd: int) -> None:
        """Take the handle by which this child can be killed."""
        if self._closed:
            _kill_tree(pidfd)
            os.close(pidfd)
            return
        self._pidfd = pidfd
        if self._cause is not None:
            _kill_tree(pidfd)

    def start(self, job: Job, deadline_s: float, *, keep: bool = False) -> None:
        """Send the job; `outcome` will say how it ended. With `keep` the child awaits another.

        After `deadline_s` it is killed, unless `more_s` grants further seconds. Raises FrameError
        when it is too big to send.
        """
        nonce = os.urandom(frame.NONCE_BYTES)
        header = job.header | ({"keep": True} if keep else {})
        sent = frame.encode(nonce, header, job.body)
        self._unsent = memoryview(sent)
        self._keep = keep
        self.service.begin(len(sent), self._loop.time())
        self._said.begin(nonce, job.stages)
        self._on_stage = job.on_stage
        self._more_s = job.more_s
        self._timers.append(self._loop.call_later(deadline_s, self._expire, deadline_s))
        if not self.outcome.done():
            self._write_job()

    def _expire(self, allowed_s: float) -> None:
        if self._more_s is None:
            self.kill(Ending.DEADLINE, f"still running after {allowed_s:g} s")
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
            self.kill(Ending.DEADLINE, f"still running after {allowed_s:g} s")

    def renew(self) -> None:
        """Be ready for another job, with an `outcome` of its own. The last one ended well."""
        self.outcome = self._loop.create_future()
        self._said = ChildProtocol(self._after_touch, self._announce)
        self._said.ready = self._said.touched = True
        self._result_bytes = self._output_bytes = 0
        for output in self._outputs:
            output.clear()
        self._on_stage = None

    def kill(self, ending: Ending, detail: str) -> None:
        """End the child for this reason; the first reason counts.

        `outcome` follows when it is dead.
        """
        if self._cause is not None or self._closed:
            return
        self._cause = ending, detail
        if self._pidfd is not None:
            _kill_tree(self._pidfd)
        self._timers.append(self._loop.call_later(_EXIT_WAIT_S, self.gone, None, None))

    def gone(self, status: int | None, usage: Usage | None) -> None:
        """Take the wait status of the dead child (None.

        Nobody knows it) and settle the outcome, if it is not yet.
        """
        while not self.outcome.done() and self._read_result():
            pass
        if not self.outcome.done():
            self._settle(status, usage)
        self._close()

    def _settle(self, status: int | None, usage: Usage | None) -> None:
        """Make the outcome; unless the child is kept, make sure that nothing of it goes on."""
        for output in self._outputs:
            while self._read_output(output):
                pass
        ending, detail = self._cause or self._said.verdict(status)
        last = self._said.last
        self.service.end(self._loop.time())
        usage = usage or self._said.usage
        self.outcome.set_result(
            ChildOutcome(
                ending=ending,
                detail=detail,
                stages=tuple(self._said.stages),
                result=last if ending is Ending.OK else None,
                failure=last if ending is Ending.FAILURE else None,
                stdout=self._outputs[0].kept,
                stderr=self._outputs[1].kept,
                signal=os.WTERMSIG(status) if status and os.WIFSIGNALED(status) else None,
                exit_status=None if status is None else os.waitstatus_to_exitcode(status),
                usage=usage,
            )
        )
        if self._keep and ending in (Ending.OK, Ending.FAILURE):
            self._cancel_timers()
        else:
            self._close()

    def _write_job(self) -> None:
        try:
            while self._unsent:
                self._unsent = self._unsent[os.write(self._job, self._unsent) :]
        except BlockingIOError:
            self._loop.add_writer(self._job, self._write_job)
            return
        except BrokenPipeError:
            self._unsent = memoryview(b"")  # it is dead; its exit status will say how
        self._loop.remove_writer(self._job)
        if self._said.begun and not self._keep:
            self._close_job()

    def _read_result(self) -> bool:
        data = self._read(self._result)
        if data is None:
            return False
        if not data and self._said.complete and self._cause is None and not self.outcome.done():
            self._settle(0, None)
        self._result_bytes += len(data)
        if self._result_bytes > self._caps.result_bytes:
            self.kill(Ending.FLOOD, f"more than {self._caps.result_bytes} bytes of result")
        if self._cause is None:
            try:
                self._said.feed(data)
            except frame.FrameError as error:
                self.kill(Ending.GARBAGE, str(error))
        if self._keep and self._said.complete and self._cause is None and not self.outcome.done():
            self._settle(0, None)  # it stays, so its stream does not end
        return bool(data) and self._result_bytes <= self._caps.result_bytes

    def _read_output(self, output: _Output) -> bool:
        data = self._read(output.descriptor) or b""
        output.take(data)
        self._output_bytes += len(data)
        if self._output_bytes > self._caps.output_bytes:
            self.kill(Ending.FLOOD, f"more than {self._caps.output_bytes} bytes of output")
        return bool(data) and self._output_bytes <= self._caps.output_bytes

    def _read(self, descriptor: int) -> bytes | None:
        """Return what is there now, None when there is nothing yet.

        At the end b"", and no more listening.
        """
        try:
            data = os.read(descriptor, _READ_BYTES)
        except BlockingIOError:
            return None
        if not data:
            self._loop.remove_reader(descriptor)
        return data

    def _after_touch(self) -> None:
        for output in self._outputs:
            while self._read_output(output):
                pass
            output.clear()
        self._output_bytes = 0
        if self._on_touched is not None:
            self._on_touched()

    def _announce(self, stage: Stage) -> None:
        if self._on_stage is not None:
            self._on_stage(stage)

    def _close_job(self) -> None:
        if self._job >= 0:
            self._loop.remove_writer(self._job)
            os.close(self._job)
            self._job = -1

    def _cancel_timers(self) -> None:
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()

    def _close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._cancel_timers()
        self._close_job()
        for descriptor in (self._result, *(output.descriptor for output in self._outputs)):
            self._loop.remove_reader(descriptor)
            os.close(descriptor)
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
