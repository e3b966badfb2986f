"""What a kernel of a user's gets to know of addresses, on a stand-in for CUDA.

A kernel reads behind its own parameters what the launch before it had there, and addresses of its
arguments it can hand to the kernels after it. Neither may lead to what judges them.
"""

import ctypes

import pytest

from compiler.abi import abi_of
from compiler.compilation import Parameter
from compiler.target import Target
from tests.gpu.bound import Bound
from tests.unit.worker.gpu import fake_cuda

TABLE_BYTES = 3072
SIZE = 1000
KERNEL = b"a user's kernel"


@pytest.fixture
def tables():
    """What each launch of the kernel of checks had for a table, and when a user's kernel ran."""
    return []


@pytest.fixture
def context(monkeypatch, tables):
    def note_table(gpu, pointers, grid):
        tables.append(ctypes.string_at(pointers[1], TABLE_BYTES))
        fake_cuda.check_memory(gpu, pointers, grid)

    def note_kernel(gpu, pointers, _grid):
        tables.append(KERNEL)
        gpu.memory(fake_cuda.pointer(pointers, 0), 4 * SIZE, write=True)[:] = 0

    fake_cuda.install(monkeypatch, {b"check_memory": note_table, b"clear": note_kernel})
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


def test_before_each_run_of_a_kernel_there_is_nothing_among_the_parameters(context, tables):
    from worker.gpu.launcher.device_run import DeviceRun
    from worker.gpu.launcher.launcher_order import LauncherOrder, TimingOrder

    parameters = [Parameter(name="output_ptr", type="*fp32", role="runtime", hints=[], value=None)]
    abi = abi_of(Target("cuda", 90, 32), parameters, {"name": "clear", "num_warps": 4, "shared": 0})
    bound = Bound().buffer("output_ptr", "fp32", [SIZE], output=True)
    order = LauncherOrder(
        b"cubin", abi, (1, 1, 1), bound.allocations, bound.arguments,
        timing=TimingOrder(min_repeats=5, max_ms=60_000.0),
    )  # fmt: skip
    tables.append(b"what another kernel left")
    DeviceRun(context, order, lambda *_: None).perform()

    before = [tables[at - 1] for at, one in enumerate(tables) if one == KERNEL]
    assert len(before) > 5
    assert not any(any(table) for table in before if table != KERNEL)


def test_what_judges_never_lies_where_an_argument_was(context):
    memory = context.memory
    argument = memory.take(SIZE, 16, is_argument=True)
    memory.scrub()
    for_checks = memory.take(SIZE, 16)
    memory.scrub()

    assert for_checks.mapping != argument.mapping
    assert memory.take(SIZE, 16, is_argument=True).mapping == argument.mapping
    assert memory.take(SIZE, 16).mapping == for_checks.mapping
