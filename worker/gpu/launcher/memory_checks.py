"""What became of memory of the GPU, asked there: nothing of it is read back to be looked at.

A kernel of ours passes over each piece once and answers with one number: a digest, or how much of
it breaks a rule. Digests are keyed with a number that no kernel of a user gets to see. Imported in
launchers only.
"""

import ctypes
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cuda.bindings import driver as cu

from worker.gpu.launcher.device import GpuDevice, check
from worker.gpu.launcher.guarded_memory import GuardedMemory

_DIGEST, _FILLED, _HOLDING = range(3)
_WORD = 8
_ENTRY_WORDS = 6
_MOST_ENTRIES = 64
"""Of one launch: kernels take 4 KiB of parameters."""
_MOST_ANSWERS = 4096
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


def filled(start: int, size_bytes: int, byte: int) -> MemoryCheck:
    """Whether every byte is `byte`: the answer is 0."""
    return MemoryCheck(start, size_bytes, _FILLED, _repeated(byte))


def holding(start: int, size_bytes: int, byte: int, item_bytes: int) -> MemoryCheck:
    """Whether an element of 1, 2, 4 or 8 bytes consists of `byte`: the answer is 0 if none does."""
    low = sum(1 << 8 * place for place in range(0, _WORD, item_bytes))
    high = low << (8 * item_bytes - 1)
    return MemoryCheck(start, size_bytes, _HOLDING, _repeated(byte), low, high)


def _repeated(byte: int) -> int:
    return int.from_bytes(bytes([byte]) * _WORD, "little")


class MemoryChecks:
    """Asks a GPU about its memory. Raises CudaError."""

    def __init__(self, device: GpuDevice, memory: GuardedMemory) -> None:
        self._device = device
        self._memory = memory
        self._key = int.from_bytes(os.urandom(_WORD), "little")
        module = check(cu.cuModuleLoadData(_PTX), "loading the kernel of checks")
        found = cu.cuModuleGetFunction(module, b"check_memory")
        self._function = check(found, "finding the kernel of checks")
        allocated = cu.cuMemAlloc(_MOST_ANSWERS * _WORD)
        self._answers = ctypes.c_uint64(int(check(allocated, "allocating memory")))
        self._table = (ctypes.c_uint64 * (_MOST_ENTRIES * _ENTRY_WORDS))()
        self._at = ctypes.c_uint64(0)
        self._parameters = (ctypes.c_void_p * 2)(
            ctypes.addressof(self._at), ctypes.addressof(self._table)
        )
        self._nothing = (ctypes.c_uint64 * (_MOST_ENTRIES * _ENTRY_WORDS))()
        self._forgetting = (ctypes.c_void_p * 2)(
            ctypes.addressof(self._answers), ctypes.addressof(self._nothing)
        )

    def digest_of(self, start: int, size_bytes: int) -> MemoryCheck:
        """Ask for a number that only equal contents have in common."""
        return MemoryCheck(start, size_bytes, _DIGEST, self._key)

    def ask(self, checks: Sequence[MemoryCheck]) -> list[int]:
        """Return an answer for each, after all work queued so far."""
        answers: list[int] = []
        for first in range(0, len(checks), _MOST_ANSWERS):
            answers += self._ask(checks[first : first + _MOST_ANSWERS])
        return answers

    def _ask(self, checks: Sequence[MemoryCheck]) -> list[int]:
        start, size_bytes = self._answers.value, len(checks) * _WORD
        self._memory.fill(start, size_bytes, 0)
        for first in range(0, len(checks), _MOST_ENTRIES):
            self._launch(checks[first : first + _MOST_ENTRIES], start + first * _WORD)
        self.forget()
        raw = self._memory.read(start, size_bytes).tobytes()
        return [
            int.from_bytes(raw[place : place + _WORD], "little")
            for place in range(0, size_bytes, _WORD)
        ]

    def forget(self) -> None:
        """Queue a launch with a table of zeros, which asks for nothing; before each run of a job.

        Each run then has the same small kernel before it, and takes the same time. Parameters stay
        where they were until others are written over them, and a kernel can read behind its own:
        this overwrites some, not all, as launches take turns in more places than one. A run may
        find what a check of the same caller was given: addresses, poison, the key of digests.
        """
        self._queue(self._forgetting, 1, 1)

    def _launch(self, checks: Sequence[MemoryCheck], answers: int) -> None:
        for place, one in enumerate(checks):
            self._table[place * _ENTRY_WORDS : (place + 1) * _ENTRY_WORDS] = [
                *(one.start, one.size_bytes, one.mode, one.pattern, one.low, one.high)
            ]
        self._at.value = answers
        largest = max(one.size_bytes for one in checks)
        most = self._device.multiprocessors * _BLOCKS_A_MULTIPROCESSOR
        blocks = max(1, min(-(-largest // _BLOCK_BYTES), most))
        self._queue(self._parameters, blocks, len(checks))

    def _queue(self, parameters: Any, blocks: int, rows: int) -> None:
        launched = cu.cuLaunchKernel(
            self._function, blocks, rows, 1, _THREADS, 1, 1, 0,
            self._device.stream, ctypes.addressof(parameters), 0,
        )  # fmt: skip
        check(launched, "launching the kernel of checks")


_PTX = b"""
.version 7.0
.target sm_70
.address_size 64

.visible .entry check_memory(.param .u64 results, .param .align 8 .b8 table[3072])
{
    .reg .pred over, aligned, whole, is_digest, is_holds, more, first_half, first_lane;
    .reg .b32 row, block, threads, thread, blocks, lane, part_low, part_high, place, octet;
    .reg .b64 entry, start, bytes, mode, pattern, low, high, result;
    .reg .b64 at, step, here, left, word, next, missing, number, key, shifted, borrow;
    .reg .b64 sum, one, mask;

    // a row of blocks for each entry of the table
    mov.u32         row, %ctaid.y;
    mov.b64         entry, table;
    mul.wide.u32    one, row, 48;
    add.s64         entry, entry, one;
    ld.param.u64    start, [entry];
    ld.param.u64    bytes, [entry+8];
    ld.param.u64    mode, [entry+16];
    ld.param.u64    pattern, [entry+24];
    ld.param.u64    low, [entry+32];
    ld.param.u64    high, [entry+40];
    ld.param.u64    result, [results];
    mul.wide.u32    one, row, 8;
    add.s64         result, result, one;
    setp.eq.u64     is_digest, mode, 0;
    setp.eq.u64     is_holds, mode, 2;

    // what stands for bytes behind the end: it changes no answer
    mov.b64         missing, pattern;
    @is_digest mov.b64 missing, 0;
    @is_holds  not.b64 missing, pattern;

    // the pieces of 16 bytes of this thread: `at`, and every `step` from there on
    mov.u32         block, %ctaid.x;
    mov.u32         blocks, %nctaid.x;
    mov.u32         threads, %ntid.x;
    mov.u32         thread, %tid.x;
    mul.wide.u32    at, block, threads;
    cvt.u64.u32     one, thread;
    add.s64         at, at, one;
    shl.b64         at, at, 4;
    mul.wide.u32    step, blocks, threads;
    shl.b64         step, step, 4;
    and.b64         one, start, 15;
    setp.eq.u64     aligned, one, 0;
    mov.b64         sum, 0;

NEXT:
    setp.ge.u64     over, at, bytes;
    @over bra       END;
    add.s64         here, start, at;
    sub.s64         left, bytes, at;
    setp.ge.and.u64 whole, left, 16, aligned;
    @!whole bra     PIECE;
    ld.global.v2.b64 {word, next}, [here];
    bra             JUDGE;

PIECE:  // not aligned, or shorter: byte by byte
    mov.b64         word, missing;
    mov.b64         next, missing;
    min.u64         left, left, 16;
    mov.b32         place, 0;
OCTET:
    ld.global.u8    octet, [here];
    cvt.u64.u32     one, octet;
    and.b32         lane, place, 7;
    shl.b32         lane, lane, 3;
    shl.b64         one, one, lane;
    mov.b64         mask, 255;
    shl.b64         mask, mask, lane;
    not.b64         mask, mask;
    setp.lt.u32     first_half, place, 8;
    @first_half and.b64  word, word, mask;
    @first_half or.b64   word, word, one;
    @!first_half and.b64 next, next, mask;
    @!first_half or.b64  next, next, one;
    add.s64         here, here, 1;
    add.u32         place, place, 1;
    cvt.u64.u32     one, place;
    setp.lt.u64     more, one, left;
    @more bra       OCTET;

JUDGE:
    @is_digest bra  DIGEST;
    xor.b64         word, word, pattern;
    xor.b64         next, next, pattern;
    @!is_holds bra  COUNT;
    // an element of zero bits borrows from the bit above it, and has none set itself
    sub.s64         borrow, word, low;
    not.b64         word, word;
    and.b64         word, word, borrow;
    and.b64         word, word, high;
    sub.s64         borrow, next, low;
    not.b64         next, next;
    and.b64         next, next, borrow;
    and.b64         next, next, high;
COUNT:
    or.b64          word, word, next;
    setp.ne.u64     more, word, 0;
    selp.b64        one, 1, 0, more;
    add.s64         sum, sum, one;
    bra             STEP;

DIGEST:
    shr.u64         number, at, 3;
    mul.lo.u64      key, number, 0x9E3779B97F4A7C15;
    add.u64         key, key, pattern;
    xor.b64         word, word, key;
    add.u64         key, key, 0x9E3779B97F4A7C15;
    xor.b64         next, next, key;
    shr.u64         shifted, word, 32;
    xor.b64         word, word, shifted;
    mul.lo.u64      word, word, 0xD6E8FEB86659FD93;
    shr.u64         shifted, word, 32;
    xor.b64         word, word, shifted;
    mul.lo.u64      word, word, 0xD6E8FEB86659FD93;
    shr.u64         shifted, word, 32;
    xor.b64         word, word, shifted;
    add.u64         sum, sum, word;
    shr.u64         shifted, next, 32;
    xor.b64         next, next, shifted;
    mul.lo.u64      next, next, 0xD6E8FEB86659FD93;
    shr.u64         shifted, next, 32;
    xor.b64         next, next, shifted;
    mul.lo.u64      next, next, 0xD6E8FEB86659FD93;
    shr.u64         shifted, next, 32;
    xor.b64         next, next, shifted;
    add.u64         sum, sum, next;
STEP:
    add.s64         at, at, step;
    bra             NEXT;

END:  // one sum for a warp
    mov.b64         {part_low, part_high}, sum;
    shfl.sync.down.b32 block, part_low, 16, 31, 0xffffffff;
    shfl.sync.down.b32 blocks, part_high, 16, 31, 0xffffffff;
    mov.b64         one, {block, blocks};
    add.u64         sum, sum, one;
    mov.b64         {part_low, part_high}, sum;
    shfl.sync.down.b32 block, part_low, 8, 31, 0xffffffff;
    shfl.sync.down.b32 blocks, part_high, 8, 31, 0xffffffff;
    mov.b64         one, {block, blocks};
    add.u64         sum, sum, one;
    mov.b64         {part_low, part_high}, sum;
    shfl.sync.down.b32 block, part_low, 4, 31, 0xffffffff;
    shfl.sync.down.b32 blocks, part_high, 4, 31, 0xffffffff;
    mov.b64         one, {block, blocks};
    add.u64         sum, sum, one;
    mov.b64         {part_low, part_high}, sum;
    shfl.sync.down.b32 block, part_low, 2, 31, 0xffffffff;
    shfl.sync.down.b32 blocks, part_high, 2, 31, 0xffffffff;
    mov.b64         one, {block, blocks};
    add.u64         sum, sum, one;
    mov.b64         {part_low, part_high}, sum;
    shfl.sync.down.b32 block, part_low, 1, 31, 0xffffffff;
    shfl.sync.down.b32 blocks, part_high, 1, 31, 0xffffffff;
    mov.b64         one, {block, blocks};
    add.u64         sum, sum, one;
    mov.u32         lane, %laneid;
    setp.eq.u32     first_lane, lane, 0;
    @first_lane red.global.add.u64 [result], sum;
    ret;
}
\0"""
