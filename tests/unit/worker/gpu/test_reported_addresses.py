"""Addresses and secrets that a user's kernel can see, on the fake CUDA.

A kernel can read past its parameters, where earlier launches left theirs, and can pass the
addresses of its arguments on to later kernels. Neither may lead to the memory that judges it.
"""

import ctypes
import re

import pytest

from compiler.abi import abi_of
from compiler.compilation import Parameter
from compiler.target import Target
from tests.gpu.bound import Bound
from tests.unit.worker.gpu import fake_cuda
from worker.gpu.inputs import uniform_values_ptx
from worker.gpu.launcher import memory_checks_ptx
from worker.gpu.timing_integrity import ceilings_ptx, register_clearing_ptx, run_comparison_ptx

MIN_PARAMETER_BYTES = 16
"""Bytes of every kernel's parameters: two pointers that Triton appends."""
SIZE = 1000
PARAMETER_BYTES = {"u64": 8, "u32": 4}
OUR_KERNELS = [
    memory_checks_ptx, run_comparison_ptx, ceilings_ptx, uniform_values_ptx, register_clearing_ptx,
]  # fmt: skip
ENTRY = re.compile(rb"\.entry\s+(\w+)\s*\(([^)]*)\)")


@pytest.fixture
def seen():
    """Count, for each run, how often a user's kernel finds the digest key in all memory."""
    return []


@pytest.fixture
def context(monkeypatch, seen):
    def look_for_key(gpu, pointers, _grid):
        key = made.checks.digest_of(0, 0).pattern.to_bytes(8, "little")
        mapped = [ctypes.string_at(start, size) for start, size in gpu.readable.items()]
        seen.append(sum(one.count(key) for one in [*mapped, *map(bytes, gpu.pinned)]))
        gpu.memory(fake_cuda.pointer(pointers, 0), 4 * SIZE, write=True)[:] = 0

    fake_cuda.install(monkeypatch, {b"clear": look_for_key})
    from worker.gpu.launcher.device import GpuDevice
    from worker.gpu.launcher.launcher_context import LauncherContext

    device = GpuDevice(0, None, None, "fake", "GPU-0", (9, 0), 13000, 4, 1 << 30, 1 << 16, 1 << 16,
                       fake_cuda.PAGE, 1e9)  # fmt: skip
    made = LauncherContext(device)
    return made


@pytest.mark.parametrize("module", OUR_KERNELS)
def test_our_kernels_leave_no_parameters_behind_those_that_every_kernel_has(module):
    found = ENTRY.findall(module.PTX)
    assert found
    for name, parameters in found:
        kinds = re.findall(r"\.param\s+(.*?)\s*(?:,|$)", parameters.decode())
        sizes = [PARAMETER_BYTES[kind.removeprefix(".").split()[0]] for kind in kinds]
        assert sum(sizes) <= MIN_PARAMETER_BYTES, name


def test_checks_are_answered_in_order_beyond_one_launch(context):
    from worker.gpu.launcher.memory_checks import filled

    block = context.memory.take(SIZE, 16)
    context.memory.fill(block.address, SIZE, 7)
    answers = context.checks.ask(
        [filled(block.address, SIZE, 7), filled(block.address, SIZE, 8)] * 40
    )

    assert [answer == 0 for answer in answers] == [True, False] * 40


def test_the_key_of_digests_is_nowhere_when_a_kernel_runs(context, seen):
    from worker.gpu.launcher.device_run import DeviceRun
    from worker.gpu.launcher.launcher_order import LauncherOrder, TimingOrder

    parameters = [
        Parameter(name=name, type="*fp32", role="runtime", hints=[], value=None)
        for name in ("output_ptr", "x_ptr")
    ]
    abi = abi_of(Target("cuda", 90, 32), parameters, {"name": "clear", "num_warps": 4, "shared": 0})
    bound = (
        Bound()
        .buffer("output_ptr", "fp32", [SIZE], output=True)
        .buffer("x_ptr", "fp32", [SIZE], init={"kind": "ones"})
    )
    order = LauncherOrder(
        b"cubin", abi, (1, 1, 1), bound.allocations, bound.arguments,
        timing=TimingOrder(min_repeats=5, max_ms=60_000.0), determinism=True,
    )  # fmt: skip
    DeviceRun(context, order, lambda *_: None).perform()

    assert len(seen) > 5
    assert set(seen) == {0}


def test_what_judges_never_lies_where_an_argument_was(context):
    memory = context.memory
    argument = memory.take(SIZE, 16, is_argument=True)
    memory.scrub()
    for_checks = memory.take(SIZE, 16)
    memory.scrub()

    assert for_checks.mapping != argument.mapping
    assert memory.take(SIZE, 16, is_argument=True).mapping == argument.mapping
    assert memory.take(SIZE, 16).mapping == for_checks.mapping


def test_addresses_of_memory_are_drawn_by_chance(context, monkeypatch):
    """Otherwise two allocations would have the same distance in each launch."""
    from worker.gpu.launcher import guarded_memory

    asked_for, reserve = [], guarded_memory.cu.cuMemAddressReserve

    def note(size, align, address, flags):
        asked_for.append(address)
        return reserve(size, align, address, flags)

    monkeypatch.setattr(guarded_memory.cu, "cuMemAddressReserve", note)
    for _ in range(3):
        guarded_memory.map_memory(context.device, SIZE)

    first, second, third = asked_for
    assert first
    assert len({second - first, third - second, 0}) == 3
