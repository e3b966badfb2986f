"""Checks GPU memory on the GPU itself, without reading it back.

Our kernel passes over each piece once and answers with one number: a digest, or how much of
it breaks a rule. Digests are keyed with a number that no kernel of a user gets to see: a kernel can
read behind its own parameters those of earlier launches, so questions lie in memory, and only while
they are asked. Imported in launchers only.
"""

import ctypes
import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from cuda.bindings import driver as cu

from worker.gpu.launcher.device import GpuDevice, check
from worker.gpu.launcher.guarded_memory import map_memory
from worker.gpu.launcher.memory_checks_ptx import ENTRY, PTX, ROW_WORDS

_DIGEST, _FILLED, _HOLDING = range(3)
_WORD = 8
_ROW_BYTES = ROW_WORDS * _WORD
_MAX_IN_A_LAUNCH = 64
"""Rows, of which each has as many blocks as the largest of them."""
_MAX_ROWS = 4096
_THREADS = 256
_BLOCK_BYTES = 16 * _THREADS
_BLOCKS_A_MULTIPROCESSOR = 4


@dataclass(frozen=True, slots=True)
class MemoryCheck:
    """A question about `size_bytes` at `start`. `pattern` is 8 bytes, as the kernel reads them."""

    start: int
    size_bytes: int
    mode: int
    pattern: int
    low: int = 0
    high: int = 0

    @property
    def row(self) -> tuple[int, ...]:
        """The row of the kernel's table, with no answer yet."""
        return (self.start, self.size_bytes, self.mode, self.pattern, self.low, self.high, 0)


def filled(start: int, size_bytes: int, byte: int) -> MemoryCheck:
    """Return the check that every byte is `byte`; the answer is 0 if so."""
    return MemoryCheck(start, size_bytes, _FILLED, _repeated(byte))


def holding(start: int, size_bytes: int, byte: int, item_bytes: int) -> MemoryCheck:
    """Return the check for elements of 1, 2, 4 or 8 bytes `byte`; the answer is 0 without any."""
    low = sum(1 << 8 * place for place in range(0, _WORD, item_bytes))
    high = low << (8 * item_bytes - 1)
    return MemoryCheck(start, size_bytes, _HOLDING, _repeated(byte), low, high)


def _repeated(byte: int) -> int:
    return int.from_bytes(bytes([byte]) * _WORD, "little")


class MemoryChecks:
    """Asks a GPU about its memory, on the stream of `device`. Raises CudaError."""

    def __init__(self, device: GpuDevice) -> None:
        self._stream = device.stream
        self._most_blocks = device.multiprocessors * _BLOCKS_A_MULTIPROCESSOR
        self._key = int.from_bytes(os.urandom(_WORD), "little")
        module = check(cu.cuModuleLoadData(PTX), "loading the kernel of checks")
        self._function = check(cu.cuModuleGetFunction(module, ENTRY), "finding it")
        self._table = map_memory(device, _MAX_ROWS * _ROW_BYTES).start
        self._clear(_MAX_ROWS)
        self._staged = _host_rows(_MAX_ROWS)
        self._row = ctypes.c_uint64(0)
        self._parameters = (ctypes.c_void_p * 1)(ctypes.addressof(self._row))
        self._pointers = ctypes.addressof(self._parameters)

    def digest_of(self, start: int, size_bytes: int) -> MemoryCheck:
        """Ask for a digest: only equal contents have equal ones."""
        return MemoryCheck(start, size_bytes, _DIGEST, self._key)

    def ask(self, checks: Sequence[MemoryCheck]) -> list[int]:
        """Return the answers, after all work queued so far.

        What was asked is in no memory that a kernel can read when this returns.
        """
        answers: list[int] = []
        for first in range(0, len(checks), _MAX_ROWS):
            answers += self._ask(checks[first : first + _MAX_ROWS])
        return answers

    def _ask(self, checks: Sequence[MemoryCheck]) -> list[int]:
        rows = self._staged[: len(checks)]
        rows[:] = [check.row for check in checks]
        host, start = rows.ctypes.data, self._table
        uploaded = cu.cuMemcpyHtoDAsync(start, host, rows.nbytes, self._stream)
        check(uploaded, "writing what is asked")
        for first in range(0, len(checks), _MAX_IN_A_LAUNCH):
            some = checks[first : first + _MAX_IN_A_LAUNCH]
            largest = max(check.size_bytes for check in some)
            blocks = max(1, min(-(-largest // _BLOCK_BYTES), self._most_blocks))
            self._launch(start + first * _ROW_BYTES, blocks, len(some))
        check(cu.cuMemcpyDtoHAsync(host, start, rows.nbytes, self._stream), "reading answers")
        self._clear(len(checks))
        check(cu.cuStreamSynchronize(self._stream), "waiting for answers")
        answers: list[int] = rows[:, -1].tolist()
        rows[:] = 0
        return answers

    def _clear(self, rows: int) -> None:
        cleared = cu.cuMemsetD8Async(self._table, 0, rows * _ROW_BYTES, self._stream)
        check(cleared, "clearing what was asked")

    def _launch(self, row: int, blocks: int, rows: int) -> None:
        self._row.value = row
        launched = cu.cuLaunchKernel(
            self._function, blocks, rows, 1, _THREADS, 1, 1, 0, self._stream, self._pointers, 0
        )
        check(launched, "launching the kernel of checks")


def _host_rows(count: int) -> np.ndarray:
    """Return memory of the host that the GPU copies rows from and to as they are queued."""
    size_bytes = count * _ROW_BYTES
    address = int(check(cu.cuMemHostAlloc(size_bytes, 0), "allocating host memory"))
    octets = np.ctypeslib.as_array((ctypes.c_uint8 * size_bytes).from_address(address))
    return octets.view(np.uint64).reshape(count, ROW_WORDS)
