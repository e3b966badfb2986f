"""The channel from a launcher to its worker: frames over a socket, large outputs as memory.

A frame whose header has `shared`, a size, has no body: one descriptor came with its first byte, of
memory that has this size and is sealed. Everything else is an error, and the channel closes all
unexpected descriptors. It never blocks the loop.
"""

import array
import asyncio
import os
import socket
from collections import deque
from dataclasses import dataclass

from worker.pool import frame
from worker.pool.shared_bytes import Body, NotSealed, SharedBytes

_READ_BYTES = 1 << 18
_MAX_DESCRIPTORS = 4
"""Taken at once, so that surplus ones are seen; the kernel closes those beyond."""
_DESCRIPTOR_BYTES = array.array("i").itemsize
_CLOSE_ON_EXEC = 0x40000000  # MSG_CMSG_CLOEXEC, which Python does not name


@dataclass(frozen=True, slots=True)
class Received:
    """A frame, and what it brings: its own body, or the memory that was sent with it."""

    frame: frame.Frame
    body: Body


class ResultChannel:
    """The worker's end of a launcher's channel.

    `theirs` is the launcher's end, to be closed here once it has it.
    """

    def __init__(self) -> None:
        self._ours, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._ours.setblocking(False)
        self._decoder = frame.Decoder()
        self._received: deque[Received] = deque()
        self._descriptors: deque[int] = deque()
        self._awaited: asyncio.Event | None = None

    async def next(self) -> Received:
        """Return the next frame. Raises EOFError, FrameError."""
        while not self._received:
            data = await self._read()
            if not data:
                raise EOFError
            for each in self._decoder.feed(data):
                self._received.append(Received(each, self._body_of(each)))
            if len(self._descriptors) > (1 if self._decoder.pending_bytes else 0):
                raise frame.FrameError("a descriptor that no frame announced")
        return self._received.popleft()

    def close(self) -> None:
        """Close both ends, and all that was sent and not taken."""
        self.theirs.close()
        if self._awaited is not None:  # the waiter sees the end
            self._awaited.set()
            asyncio.get_running_loop().remove_reader(self._ours)
        self._ours.close()
        self._received.clear()
        self._close_descriptors()

    async def _read(self) -> bytes:
        """Return what there is, once there is something; b"" at the end. Raises FrameError."""
        while True:
            try:
                return self._receive()
            except BlockingIOError:
                await self._readable()
            except OSError:  # the launcher is gone, or this end is closed
                return b""

    def _receive(self) -> bytes:
        room = socket.CMSG_SPACE(_MAX_DESCRIPTORS * _DESCRIPTOR_BYTES)
        data, sent, flags, _ = self._ours.recvmsg(_READ_BYTES, room, _CLOSE_ON_EXEC)
        for level, kind, content in sent:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                descriptors = array.array("i")
                descriptors.frombytes(content[: len(content) - len(content) % _DESCRIPTOR_BYTES])
                self._descriptors.extend(descriptors)
        if flags & socket.MSG_CTRUNC:
            raise frame.FrameError("more descriptors than are taken")
        return data

    async def _readable(self) -> None:
        loop = asyncio.get_running_loop()
        self._awaited = asyncio.Event()
        loop.add_reader(self._ours, self._awaited.set)
        try:
            await self._awaited.wait()
        finally:
            self._awaited = None
            if self._ours.fileno() >= 0:
                loop.remove_reader(self._ours)

    def _body_of(self, received: frame.Frame) -> Body:
        size_bytes = received.header.get("shared")
        if size_bytes is None:
            return received.body
        if received.body or type(size_bytes) is not int or size_bytes < 0:
            raise frame.FrameError("a shared body needs a size, and nothing else")
        if not self._descriptors:
            raise frame.FrameError("a shared body without its descriptor")
        try:
            return SharedBytes.received(self._descriptors.popleft(), size_bytes)
        except NotSealed as error:
            raise frame.FrameError(f"a shared body that is {error}") from None

    def _close_descriptors(self) -> None:
        while self._descriptors:
            os.close(self._descriptors.popleft())
