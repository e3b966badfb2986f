"""Outputs in memory that the worker maps instead of reading them from a socket.

The memory is sealed after the GPU's copy, so that it can no longer change, and never used again.
Creating the pages of a large output takes longer than copying into them, so the launcher creates
those of the next output during a job. Runs in launchers.
"""

import contextlib
import ctypes
import fcntl
import mmap
import os
import resource
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
_MIN_SHARED_BYTES = 64 << 10
"""Shorter outputs go through the socket, which buffers some of them for its reader."""
MAX_SHARED_BYTES = 2 << 30
"""More than a worker takes from one job."""
_MIN_SPARE_BYTES, _MAX_SPARE_BYTES = 4 << 20, 256 << 20
"""The least size of an output for which pages are made ahead, and the limit of all such pages."""
_MAX_ALIKE_BYTES = 32 << 20
"""The limit of all such pages for outputs of one size."""
_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
_POPULATE_FOR_WRITING = 23  # MADV_POPULATE_WRITE, since Linux 5.14
_SPAN_BYTES = 4 << 20
_MAX_THREADS = 8


def is_shared(size_bytes: int) -> bool:
    """Return True if an output of this size is sent as shared memory."""
    return _MIN_SHARED_BYTES <= size_bytes <= MAX_SHARED_BYTES


class SharedOutput:
    """An output in immutable memory."""

    def __init__(self, descriptor: int, size_bytes: int) -> None:
        """Own a descriptor of complete memory, and seal it. Raises OSError."""
        self.descriptor = descriptor
        self.size_bytes = size_bytes
        self._content: Bytes | None = None
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)

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


class OutputMemory:
    """Makes memory for outputs. Raises OSError where there is none.

    `write` gets the bytes through a descriptor, which suits few, `fill` by an address, which suits
    many.
    """

    def __init__(self, most_alike: int = 1) -> None:
        """Have so much memory of one size made ahead, as outputs of it come one behind another."""
        self._most_alike = most_alike
        self._spares: OrderedDict[int, deque[Future[_Pages]]] = OrderedDict()
        """Spare pages by size, the last used size at the end."""

    @staticmethod
    def write(content: Bytes) -> SharedOutput:
        """Return `content` shared."""
        with _new_memory(content.nbytes) as descriptor:
            view = content.data
            while view:
                view = view[os.write(descriptor, view) :]
            return SharedOutput(descriptor, content.nbytes)

    def fill(self, size_bytes: int, fill: Callable[[int], None]) -> SharedOutput:
        """Return what `fill` writes to the address that it is given; `size_bytes` is at least 1."""
        pages = self._take(size_bytes)
        try:
            fill(pages.address)
            pages.unmap()
            shared = SharedOutput(pages.descriptor, size_bytes)
        except BaseException:
            pages.close()
            raise
        self._prepare(size_bytes)
        return shared

    def _take(self, size_bytes: int) -> "_Pages":
        if spares := self._spares.get(size_bytes):
            with contextlib.suppress(OSError):
                return spares.popleft().result()
        return _Pages(size_bytes)

    def _prepare(self, size_bytes: int) -> None:
        """Have the next memory of this size made on another thread; others give way to it."""
        if not _MIN_SPARE_BYTES <= size_bytes <= _MAX_SPARE_BYTES:
            return
        spares = self._spares.setdefault(size_bytes, deque())
        self._spares.move_to_end(size_bytes)
        wanted = min(self._most_alike, max(1, _MAX_ALIKE_BYTES // size_bytes))
        while len(spares) < wanted and self._has_room_for(size_bytes):
            made: Future[_Pages] = Future()
            try:
                threading.Thread(target=_make, args=(made, size_bytes), daemon=True).start()
            except RuntimeError:  # no thread may be started
                return
            spares.append(made)

    def _has_room_for(self, size_bytes: int) -> bool:
        """Free buffers of other sizes, until there is room for one more of this."""
        while sum(size * len(spares) for size, spares in self._spares.items()) + size_bytes > (
            _MAX_SPARE_BYTES
        ):
            oldest = next(iter(self._spares))
            if oldest == size_bytes:
                return False
            for spare in self._spares.pop(oldest):
                spare.add_done_callback(_let_go)
        return True


class _Pages:
    """New memory, mapped, all of its pages there. Raises OSError."""

    def __init__(self, size_bytes: int) -> None:
        with _new_memory(size_bytes) as self.descriptor:
            os.ftruncate(self.descriptor, size_bytes)
            self._mapped = mmap.mmap(self.descriptor, size_bytes)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self._mapped))
        _populate(self.address, size_bytes)

    def unmap(self) -> None:
        """Leave the descriptor alone."""
        self._mapped.close()

    def close(self) -> None:
        """Let go of all."""
        self._mapped.close()
        os.close(self.descriptor)


def _make(made: "Future[_Pages]", size_bytes: int) -> None:
    try:
        made.set_result(_Pages(size_bytes))
    except OSError as error:
        made.set_exception(error)


def _let_go(made: "Future[_Pages]") -> None:
    if made.exception() is None:
        made.result().close()


def _populate(address: int, size_bytes: int) -> None:
    """Have pages made by several threads: one alone takes longer than the copy into them.

    Where the system cannot, or lets no thread start, they are made as they are written.
    """
    spans = range(0, size_bytes, _SPAN_BYTES)
    advise = ctypes.CDLL(None, use_errno=True).madvise

    def populate(at: int) -> None:
        length = min(_SPAN_BYTES, size_bytes - at)
        advise(ctypes.c_void_p(address + at), ctypes.c_size_t(length), _POPULATE_FOR_WRITING)

    if len(spans) == 1:
        populate(0)
        return
    with (
        contextlib.suppress(RuntimeError),
        ThreadPoolExecutor(min(len(spans), _MAX_THREADS)) as threads,
    ):
        list(threads.map(populate, spans))


_file_size = threading.Lock()


@contextmanager
def _new_memory(size_bytes: int) -> Iterator[int]:
    """Yield the descriptor of new memory, which may grow to this size; the caller closes it.

    Files may be so large for this moment only: what kernels print is not to grow so. Raises OSError
    where it cannot be permitted.
    """
    with _file_size:
        kept, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        is_free = kept == resource.RLIM_INFINITY or kept >= size_bytes
        if not is_free and hard not in (resource.RLIM_INFINITY, max(hard, size_bytes)):
            raise OSError(f"files may have {hard} bytes, not {size_bytes}")
        descriptor = os.memfd_create("output", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            if not is_free:
                resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
            yield descriptor
        except BaseException:
            os.close(descriptor)
            raise
        finally:
            if not is_free:
                resource.setrlimit(resource.RLIMIT_FSIZE, (kept, hard))
