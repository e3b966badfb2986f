"""The way of frames from a launcher to its worker: a socket that carries large outputs as memory.

A frame whose header has `shared` has no body: the memory comes with it as a descriptor, sealed, so
that nobody can change it any more. Runs in launchers.
"""

import contextlib
import ctypes
import fcntl
import mmap
import os
import resource
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

from worker.pool import frame

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
_LEAST_SHARED_BYTES = 1 << 20
"""What is shorter goes through the pipe."""
MOST_SHARED_BYTES = 2 << 30
"""More than a worker takes from one job."""
_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
_POPULATE_FOR_WRITING = 23  # MADV_POPULATE_WRITE, since Linux 5.14
_SPAN_BYTES = 4 << 20
_MOST_THREADS = 8


def shared_output(size_bytes: int) -> "SharedOutput | None":
    """Return memory for an output; None where it is short, or the machine gives none."""
    if not _LEAST_SHARED_BYTES <= size_bytes <= MOST_SHARED_BYTES:
        return None
    try:
        return SharedOutput(size_bytes)
    except OSError:
        return None


class SharedOutput:
    """`size_bytes` of memory, at least 1, to be written at `address` until they are sealed.

    Raises OSError where the machine gives none.
    """

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self.descriptor = os.memfd_create("output", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            with _files_of(size_bytes):
                os.ftruncate(self.descriptor, size_bytes)
            self._mapped = mmap.mmap(self.descriptor, size_bytes)
        except BaseException:
            os.close(self.descriptor)
            raise
        self._content: Bytes | None = np.frombuffer(self._mapped, np.uint8)
        self._populate()

    @property
    def address(self) -> int:
        """Where the bytes lie, until they are sealed."""
        assert self._content is not None
        return int(self._content.ctypes.data)

    @property
    def content(self) -> Bytes:
        """The bytes; read-only once they are sealed."""
        if self._content is None:
            self._content = np.frombuffer(self._mapped, np.uint8)
        return self._content

    def seal(self) -> None:
        """Let nobody change the bytes any more, this process included."""
        self._content = None
        self._mapped.close()
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, _SEALS)
        private = mmap.MAP_PRIVATE  # some kernels refuse to share what is sealed
        self._mapped = mmap.mmap(self.descriptor, self.size_bytes, private, mmap.PROT_READ)

    def close(self) -> None:
        """Let go of it; it lives on where it was sent to, and as long as its bytes are in use."""
        self._content = None
        with contextlib.suppress(BufferError):
            self._mapped.close()
        os.close(self.descriptor)

    def _populate(self) -> None:
        """Have the pages made by several threads: one alone takes longer than the copy into them.

        Where the system cannot, or lets no thread start, they are made as they are written.
        """
        spans = range(0, self.size_bytes, _SPAN_BYTES)
        if len(spans) < 2:
            return
        start, advise = self.address, ctypes.CDLL(None, use_errno=True).madvise

        def populate(at: int) -> None:
            length = min(_SPAN_BYTES, self.size_bytes - at)
            advise(ctypes.c_void_p(start + at), ctypes.c_size_t(length), _POPULATE_FOR_WRITING)

        try:
            with ThreadPoolExecutor(min(len(spans), _MOST_THREADS)) as threads:
                list(threads.map(populate, spans))
        except RuntimeError:
            return


@contextmanager
def _files_of(size_bytes: int) -> Iterator[None]:
    """Permit files of this size for a moment; what kernels print is not to grow so large."""
    kept, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    if kept == resource.RLIM_INFINITY or kept >= size_bytes:
        yield
        return
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (kept, hard))


CHUNK_BYTES = 16 << 20
"""Outputs that are not shared are sent in pieces of this size."""


class ResultChannel:
    """Sends frames through a socket that the worker has given."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._socket = socket.socket(fileno=descriptor)

    def send(self, nonce: bytes, header: dict[str, Any], body: bytes | SharedOutput = b"") -> None:
        """Send one frame. Raises OSError when the worker is gone."""
        if isinstance(body, SharedOutput):
            encoded = frame.encode(nonce, header | {"shared": body.size_bytes})
            sent = socket.send_fds(self._socket, [encoded], [body.descriptor])
            self._socket.sendall(encoded[sent:])
        else:
            self._socket.sendall(frame.encode(nonce, header, body))
