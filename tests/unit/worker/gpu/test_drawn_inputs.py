"""Launchers draw uniform inputs on the GPU, unless this machine's NumPy makes others.

The fake CUDA's kernel draws from the generator's key alone.
"""

import numpy as np
import pytest

from compiler.abi import abi_of
from compiler.compilation import Parameter
from compiler.target import Target
from launch.buffers.allocation import memory_of
from tests.gpu.bound import Bound
from tests.unit.worker.gpu import fake_cuda

COUNT = 3000
BYTES = 4 * COUNT


def draws_too_much(gpu, pointers, grid):
    """Draw what a NumPy with fused sums would seem to draw."""
    fake_cuda.draw_uniform(gpu, pointers, grid)
    row = gpu.memory(fake_cuda.pointer(pointers, 0), 56).view(np.uint64)
    gpu.memory(int(row[0]), 1, write=True)[:] ^= 1


def doubles_in_place(gpu, pointers, _grid):
    gpu.memory(fake_cuda.pointer(pointers, 0), BYTES, write=True).view(np.float32)[:] *= 2


@pytest.fixture
def gpu(monkeypatch, request):
    kernel = getattr(request, "param", fake_cuda.draw_uniform)
    kernels = {b"draw_uniform": kernel, b"doubles_in_place": doubles_in_place}
    return fake_cuda.install(monkeypatch, kernels)


@pytest.fixture
def context(gpu):
    from worker.gpu.launcher.device import GpuDevice
    from worker.gpu.launcher.kept_inputs import KeptBudget
    from worker.gpu.launcher.launcher_context import LauncherContext

    device = GpuDevice(0, None, None, "fake", "GPU-0", (9, 0), 13000, 4, 1 << 30, 1 << 16, 1 << 16,
                       fake_cuda.PAGE, 1e9)  # fmt: skip
    context = LauncherContext(device, KeptBudget(64 << 20, 8 << 20))
    context.warm_up()
    gpu.calls.clear()
    return context


@pytest.fixture
def order():
    from worker.gpu.launcher.launcher_order import LauncherOrder

    bound = Bound().buffer("x_ptr", "fp32", [COUNT], {"kind": "uniform", "seed": 5, "high": 9})
    bound.buffer("y_ptr", "fp32", [COUNT], {"kind": "normal", "seed": 5})
    return LauncherOrder(b"", None, (1, 1, 1), bound.allocations, bound.arguments)


def started(context, order):
    """Return the initial contents of the order's two allocations, from GPU memory."""
    from worker.gpu.launcher.contents import Contents

    contents = Contents(order)
    context.inputs.prepare(contents)
    found = []
    for first in context.inputs.contents_of(contents):
        held = first if first.address is not None else context.inputs.hold(first)[1]
        found.append(context.memory.read(held.address, BYTES).view(np.float32).copy())
    return found


def uploads(gpu):
    return [size for kind, _, size in gpu.calls if (kind, size) == ("upload", BYTES)]


def test_uniform_inputs_are_drawn_there_and_equal(context, gpu, order):
    made = started(context, order)

    for numbers, described in zip(made, order.allocations, strict=True):
        np.testing.assert_array_equal(numbers, memory_of(described, None, b""))
    assert len(uploads(gpu)) == 1  # the normal ones


@pytest.mark.parametrize("gpu", [draws_too_much], indirect=True)
def test_where_the_gpu_draws_otherwise_the_host_makes_them(context, gpu, order):
    made = started(context, order)

    for numbers, described in zip(made, order.allocations, strict=True):
        np.testing.assert_array_equal(numbers, memory_of(described, None, b""))
    assert len(uploads(gpu)) == 2


def test_an_output_that_starts_with_drawn_numbers_does_so_before_every_run(context):
    from worker.gpu.launcher.device_run import DeviceRun
    from worker.gpu.launcher.launcher_order import LauncherOrder, TimingOrder

    name, init = "x_ptr", {"kind": "uniform", "seed": 5}
    parameter = Parameter(name=name, type="*fp32", role="runtime", hints=[], value=None)
    metadata = {"name": "doubles_in_place", "num_warps": 4, "shared": 0}
    bound = Bound().buffer(name, "fp32", [COUNT], init, output=True)
    order = LauncherOrder(
        b"cubin", abi_of(Target("cuda", 90, 32), [parameter], metadata), (1, 1, 1),
        bound.allocations, bound.arguments, timing=TimingOrder(max_ms=60_000.0), determinism=True,
    )  # fmt: skip
    sent = {}
    run = DeviceRun(context, order, lambda header, body: sent.update({header["stage"]: body}))
    found = run.perform()

    [described] = bound.allocations
    assert sent["output:x_ptr"] == (2 * memory_of(described, None, b"")).tobytes()
    assert (found["differing"], found["differing_repeats"]) == ([], 0)


def test_what_was_drawn_of_is_nowhere_afterwards(context, gpu, order):
    from worker.gpu.inputs.uniform_draw import UniformDraw

    started(context, order)

    numbers = UniformDraw.of(order.allocations[0], None)
    key = np.array(numbers.key, np.uint64).tobytes()
    assert not any(key in bytes(gpu.memory(at, size)) for at, size in gpu.readable.items())
