"""Overwrites a GPU's registers before a user's kernel runs.

GPUs do not clear registers between kernels. A kernel that reads uninitialized registers finds
values of the kernel before it, such as addresses of expected outputs. Imported in launchers only.
"""

from cuda.bindings import driver as cu

from worker.gpu.launcher.device import GpuDevice, check
from worker.gpu.timing_integrity.register_clearing_ptx import ENTRY, PTX, THREADS

_BLOCKS_A_MULTIPROCESSOR = 2
"""One fills all registers; with two, no multiprocessor goes without where another is quicker."""


class RegisterClearing:
    """The kernel that does so, on the stream of `device`. Raises CudaError."""

    def __init__(self, device: GpuDevice) -> None:
        self._stream = device.stream
        self._blocks = device.multiprocessors * _BLOCKS_A_MULTIPROCESSOR
        module = check(cu.cuModuleLoadData(PTX), "loading the clearing kernel")
        self._function = check(cu.cuModuleGetFunction(module, ENTRY), "finding it")

    def clear(self) -> None:
        """Queue it; right before each run, so that all have the same kernel before them, too.

        It has no parameters, and takes 4 µs on an H200.
        """
        launched = cu.cuLaunchKernel(
            self._function, self._blocks, 1, 1, THREADS, 1, 1, 0, self._stream, 0, 0
        )
        check(launched, "launching the clearing kernel")
