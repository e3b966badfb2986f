"""Outputs in sealed memory: every reader sees the same bytes, and no one can write."""

import ctypes
import fcntl
import mmap
import os
import threading

import numpy as np
import pytest

from worker.gpu.launcher import output_memory
from worker.gpu.launcher.output_memory import OutputMemory, is_shared
from worker.pool.shared_bytes import SharedBytes

COUNT = 100_000


def written():
    return OutputMemory.write(np.arange(COUNT, dtype=np.uint8))


def filled(size=COUNT, memory=None):
    def fill(address):
        target = np.frombuffer((ctypes.c_uint8 * size).from_address(address), np.uint8)
        target[:] = np.arange(size, dtype=np.uint8)

    return (memory or OutputMemory()).fill(size, fill)


@pytest.mark.parametrize("made", [written, filled])
def test_the_worker_takes_it_and_finds_the_bytes(made):
    shared = made()

    received = SharedBytes.received(os.dup(shared.descriptor), COUNT)
    shared.close()

    assert bytes(received) == np.arange(COUNT, dtype=np.uint8).tobytes()


@pytest.mark.parametrize("made", [written, filled])
def test_it_cannot_be_changed(made):
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


def test_the_memory_of_the_next_large_output_is_made_meanwhile_and_is_another():
    size, memory = (9 << 20) + 5, OutputMemory()

    first = filled(size, memory)
    spare = memory._spares[size][0].result(timeout=10)
    second = filled(size, memory)

    assert second.descriptor == spare.descriptor != first.descriptor
    assert [one.content[-1] for one in (first, second)] == [(size - 1) % 256] * 2


def test_spares_take_only_so_much_memory(monkeypatch):
    monkeypatch.setattr(output_memory, "_MAX_SPARE_BYTES", 14 << 20)
    memory = OutputMemory()
    for size in (5 << 20, 6 << 20, 7 << 20):
        filled(size, memory).close()

    assert list(memory._spares) == [6 << 20, 7 << 20]
    filled(5 << 20, memory).close()
    assert list(memory._spares) == [7 << 20, 5 << 20]
    for (spare,) in memory._spares.values():
        spare.result(timeout=10).close()


def test_several_of_a_size_are_made_ahead_where_they_come_one_behind_another(monkeypatch):
    monkeypatch.setattr(output_memory, "_MAX_SPARE_BYTES", 23 << 20)
    memory = OutputMemory(most_alike=3)
    for size in (5 << 20, 6 << 20):
        filled(size, memory).close()

    assert {size: len(spares) for size, spares in memory._spares.items()} == {6 << 20: 3}
    ahead = [spare.result(timeout=10).descriptor for spare in memory._spares[6 << 20]]
    outputs = [filled(6 << 20, memory) for _ in range(3)]
    assert [one.descriptor for one in outputs] == ahead
    assert len(memory._spares[6 << 20]) == 3
    for one in [*outputs, *(spare.result(timeout=10) for spare in memory._spares[6 << 20])]:
        one.close()


def test_a_write_that_fails_leaves_no_descriptor(monkeypatch):
    made, create = [], os.memfd_create

    def noted(*arguments):
        made.append((threading.current_thread(), create(*arguments)))
        return made[-1][1]

    monkeypatch.setattr(os, "memfd_create", noted)
    with pytest.raises(RuntimeError):
        OutputMemory().fill(COUNT, lambda _: (_ for _ in ()).throw(RuntimeError))

    (descriptor,) = (one for thread, one in made if thread is threading.main_thread())
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


@pytest.mark.parametrize(
    ("size", "shared"), [(0, False), (65_535, False), (65_536, True), (3 << 30, False)]
)
def test_only_what_is_worth_it_is_shared(size, shared):
    assert is_shared(size) is shared
