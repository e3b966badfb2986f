"""What a kernel of a user's gets to know of addresses, on a stand-in for CUDA.

A kernel reads behind its own parameters what the launch before it had there, and addresses of its
arguments it can hand to the kernels after it. Neither may lead to what judges them.
"""

import ctypes

import pytest

from tests.unit.worker.gpu import fake_cuda

TABLE_BYTES = 3072
SIZE = 1000


@pytest.fixture
def tables():
    """What each launch of the kernel of checks had for a table."""
    return []


@pytest.fixture
def context(monkeypatch, tables):
    def note_table(gpu, pointers, grid):
        tables.append(ctypes.string_at(pointers[1], TABLE_BYTES))
        fake_cuda.check_memory(gpu, pointers, grid)

    fake_cuda.install(monkeypatch, {b"check_memory": note_table})
    from worker.gpu.launcher.device import GpuDevice
    from worker.gpu.launcher.launcher_context import LauncherContext

    device = GpuDevice(0, None, None, "fake", "GPU-0", (9, 0), 13000, 4, 1 << 30, 1 << 16, 1 << 16,
                       fake_cuda.PAGE, 1e9)  # fmt: skip
    return LauncherContext(device)


def test_checks_leave_nothing_among_the_parameters(context, tables):
    from worker.gpu.launcher.memory_checks import filled

    block = context.memory.take(SIZE, 16)
    context.memory.fill(block.address, SIZE, 7)
    answers = context.checks.ask(
        [filled(block.address, SIZE, 7), filled(block.address, SIZE, 8)] * 40
    )

    assert [answer == 0 for answer in answers] == [True, False] * 40
    assert any(tables[0])
    assert not any(tables[-1])


def test_what_judges_never_lies_where_an_argument_was(context):
    memory = context.memory
    argument = memory.take(SIZE, 16, is_argument=True)
    memory.scrub()
    for_checks = memory.take(SIZE, 16)
    memory.scrub()

    assert for_checks.mapping != argument.mapping
    assert memory.take(SIZE, 16, is_argument=True).mapping == argument.mapping
    assert memory.take(SIZE, 16).mapping == for_checks.mapping
