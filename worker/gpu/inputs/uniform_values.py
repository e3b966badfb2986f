"""Draws the uniform numbers that buffers start with on the GPU. Imported in launchers only."""

import ctypes

import numpy as np
from cuda.bindings import driver as cu

from launch.buffers.allocation import memory_of
from worker.gpu.inputs.uniform_draw import ITEM_BYTES, UniformDraw
from worker.gpu.inputs.uniform_values_ptx import ENTRY, PTX, ROW_WORDS
from worker.gpu.launcher.device import GpuDevice, check
from worker.gpu.launcher.guarded_memory import GuardedMemory, map_memory

_ROW_BYTES = 8 * ROW_WORDS
_THREADS = 256
_A_THREAD = 4
_PROVED, _ALIGN_BYTES = 4099, 16
_BLOCKS_A_MULTIPROCESSOR = 8


class UniformValues:
    """The kernel that draws, on the stream of `device`. Raises CudaError."""

    def __init__(self, device: GpuDevice) -> None:
        self._stream = device.stream
        self._most_blocks = device.multiprocessors * _BLOCKS_A_MULTIPROCESSOR
        module = check(cu.cuModuleLoadData(PTX), "loading the drawing kernel")
        self._function = check(cu.cuModuleGetFunction(module, ENTRY), "finding it")
        self._table = ctypes.c_uint64(map_memory(device, _ROW_BYTES).start)
        self._parameters = (ctypes.c_void_p * 1)(ctypes.addressof(self._table))
        self._pointers = ctypes.addressof(self._parameters)
        self.is_exact = True
        """True if it draws the same numbers as NumPy here; `prove` checks that."""

    def prove(self, memory: GuardedMemory) -> None:
        """Compare some numbers with NumPy's, which is compiled otherwise on some machines."""
        for dtype in ITEM_BYTES:
            init = {"kind": "uniform", "seed": 1, "low": -0.3, "high": 1.7}
            described = {"name": dtype, "dtype": dtype, "elements": _PROVED, "init": init}
            numbers = UniformDraw.of(described, None)
            assert numbers is not None
            expected = memory_of(described, None, b"").view(np.uint8)
            block = memory.take(expected.nbytes, _ALIGN_BYTES)
            self.draw(numbers, block.address)
            drawn = memory.read(block.address, expected.nbytes)
            self.is_exact &= np.array_equal(drawn, expected)

    def draw(self, numbers: UniformDraw, address: int) -> None:
        """Queue that `numbers` lie at `address`.

        What they are made of is on the GPU only until they are.
        """
        row = np.array(numbers.row(address), np.uint64)
        table = self._table.value
        uploaded = cu.cuMemcpyHtoDAsync(table, row.ctypes.data, _ROW_BYTES, self._stream)
        check(uploaded, "writing what to draw")
        blocks = max(1, min(-(-numbers.count // (_A_THREAD * _THREADS)), self._most_blocks))
        launched = cu.cuLaunchKernel(
            self._function, blocks, 1, 1, _THREADS, 1, 1, 0, self._stream, self._pointers, 0
        )
        check(launched, "launching the drawing kernel")
        check(cu.cuMemsetD8Async(table, 0, _ROW_BYTES, self._stream), "clearing what was drawn")
