"""The worker's ends of the pipes of one child: its jobs, its result, its output.

They count and bound the bytes that arrive; `ChildProtocol` parses them.
"""

import asyncio
import contextlib
import fcntl
import os
from collections.abc import Callable

_READ_BYTES = 1 << 18
_PIPE_BYTES = 1 << 20


class CapturedOutput:
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
        """The first bytes, and a line that says how many are missing."""
        missing = self._size_bytes - len(self._first)
        note = f"\n[{missing} more bytes were not kept]\n" if missing else ""
        return bytes(self._first) + note.encode()


class ChildPipes:
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
        self.stdout = CapturedOutput(stdout, kept_output_bytes)
        self.stderr = CapturedOutput(stderr, kept_output_bytes)
        for descriptor in (self._job, self._result, stdout, stderr):
            os.set_blocking(descriptor, False)
        self._unsent = memoryview(b"")
        self._is_last = False

    @property
    def outputs(self) -> tuple[CapturedOutput, CapturedOutput]:
        """Both."""
        return self.stdout, self.stderr

    def listen(
        self, on_result: Callable[[], object], on_output: Callable[[CapturedOutput], object]
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
            self._unsent = memoryview(b"")  # it is dead; its exit status will say how
        self._loop.remove_writer(self._job)
        if self._is_last:
            self._close_job()

    def read_result(self) -> bytes | None:
        """Return the bytes of the result that have arrived: see `_read`."""
        return self._read(self._result)

    def read_output(self, output: CapturedOutput) -> bytes:
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
