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
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Self

import numpy as np

from worker.pool import frame

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
_LEAST_SHARED_BYTES = 64 << 10
"""What is shorter goes through the socket, which holds some more before its reader has to come."""
MOST_SHARED_BYTES = 2 << 30
"""More than a worker takes from one job."""
_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
_POPULATE_FOR_WRITING = 23  # MADV_POPULATE_WRITE, since Linux 5.14
_SPAN_BYTES = 4 << 20
_MOST_THREADS = 8


def is_shared(size_bytes: int) -> bool:
    """Whether an output of this size is sent as memory."""
    return _LEAST_SHARED_BYTES <= size_bytes <= MOST_SHARED_BYTES


class SharedOutput:
    """An output in memory that nobody can change any more. Raises OSError where there is none.

    `write` gets the bytes through a descriptor, which suits few, `fill` by an address, which suits
    many.
    """

    def __init__(self, descriptor: int, size_bytes: int) -> None:
        """Own a descriptor of complete memory, and seal it."""
        self.descriptor = descriptor
        self.size_bytes = size_bytes
        self._content: Bytes | None = None
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)

    @classmethod
    def write(cls, content: Bytes) -> Self:
        """Return `content` shared."""
        with _new_memory() as descriptor, _files_of(content.nbytes):
            view = content.data
            while view:
                view = view[os.write(descriptor, view) :]
            return cls(descriptor, content.nbytes)

    @classmethod
    def fill(cls, size_bytes: int, fill: Callable[[int], None]) -> Self:
        """Return what `fill` writes to the address that it is given; `size_bytes` is at least 1."""
        with _new_memory() as descriptor:
            with _files_of(size_bytes):
                os.ftruncate(descriptor, size_bytes)
            with mmap.mmap(descriptor, size_bytes) as mapped:
                address = ctypes.addressof(ctypes.c_char.from_buffer(mapped))
                _populate(address, size_bytes)
                fill(address)
            return cls(descriptor, size_bytes)

    @property
    def content(self) -> Bytes:
        """The bytes; they live on when it is closed."""
        if self._content is None:
            private = mmap.MAP_PRIVATE  # some kernels refuse to share what is sealed
            mapped = mmap.mmap(self.descriptor, self.size_bytes, private, mmap.PROT_READ)
            self._content = np.frombuffer(mapped, np.uint8)
        return self._content

    def close(self) -> None:
        """Let go of it; it lives on where it was sent to."""
        self._content = None
        os.close(self.descriptor)


@contextmanager
def _new_memory() -> Iterator[int]:
    """Yield the descriptor of new memory, to be closed by whoever gets it."""
    descriptor = os.memfd_create("output", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        yield descriptor
    except BaseException:
        os.close(descriptor)
        raise


def _populate(address: int, size_bytes: int) -> None:
    """Have pages made by several threads: one alone takes longer than the copy into them.

    Where the system cannot, or lets no thread start, they are made as they are written.
    """
    spans = range(0, size_bytes, _SPAN_BYTES)
    if len(spans) < 2:
        return
    advise = ctypes.CDLL(None, use_errno=True).madvise

    def populate(at: int) -> None:
        length = min(_SPAN_BYTES, size_bytes - at)
        advise(ctypes.c_void_p(address + at), ctypes.c_size_t(length), _POPULATE_FOR_WRITING)

    with (
        contextlib.suppress(RuntimeError),
        ThreadPoolExecutor(min(len(spans), _MOST_THREADS)) as threads,
    ):
        list(threads.map(populate, spans))


@contextmanager
def _files_of(size_bytes: int) -> Iterator[None]:
    """Permit files of this size for a moment; what kernels print is not to grow so large.

    Raises OSError where they cannot be permitted.
    """
    kept, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    if kept == resource.RLIM_INFINITY or kept >= size_bytes:
        yield
        return
    if hard not in (resource.RLIM_INFINITY, max(hard, size_bytes)):
        raise OSError(f"files may have {hard} bytes, not {size_bytes}")
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
