"""Outputs in sealed memory: whoever gets the descriptor reads the same bytes, and nobody writes."""

import ctypes
import fcntl
import mmap
import os
from pathlib import Path

import numpy as np
import pytest

from worker.gpu.launcher.result_channel import SharedOutput, is_shared
from worker.pool.shared_bytes import SharedBytes

COUNT = 100_000


def written():
    return SharedOutput.write(np.arange(COUNT, dtype=np.uint8))


def filled(size=COUNT):
    def fill(address):
        target = np.frombuffer((ctypes.c_uint8 * size).from_address(address), np.uint8)
        target[:] = np.arange(size, dtype=np.uint8)

    return SharedOutput.fill(size, fill)


@pytest.mark.parametrize("made", [written, filled])
def test_the_worker_takes_it_and_finds_the_bytes(made):
    shared = made()

    received = SharedBytes.received(os.dup(shared.descriptor), COUNT)
    shared.close()

    assert bytes(received) == np.arange(COUNT, dtype=np.uint8).tobytes()


@pytest.mark.parametrize("made", [written, filled])
def test_nobody_can_change_it(made):
    shared = made()

    with pytest.raises(PermissionError):
        os.pwrite(shared.descriptor, b"x", 0)
    with pytest.raises(PermissionError):
        os.ftruncate(shared.descriptor, 1)
    with pytest.raises(PermissionError):
        mmap.mmap(shared.descriptor, COUNT)
    with pytest.raises(PermissionError):
        fcntl.fcntl(shared.descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
    assert not shared.content.flags.writeable


def test_what_it_holds_outlives_it():
    shared = filled()
    content = shared.content

    shared.close()

    assert content[:3].tolist() == [0, 1, 2]


def test_pages_of_many_bytes_are_made_beforehand():
    size = (9 << 20) + 5

    assert filled(size).content[-1] == (size - 1) % 256


def test_a_write_that_fails_leaves_no_descriptor():
    before = set(Path("/proc/self/fd").iterdir())

    with pytest.raises(RuntimeError):
        SharedOutput.fill(COUNT, lambda _: (_ for _ in ()).throw(RuntimeError))

    assert set(Path("/proc/self/fd").iterdir()) == before


@pytest.mark.parametrize(
    ("size", "shared"), [(0, False), (65_535, False), (65_536, True), (3 << 30, False)]
)
def test_only_what_is_worth_it_is_shared(size, shared):
    assert is_shared(size) is shared
