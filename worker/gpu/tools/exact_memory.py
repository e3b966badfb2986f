"""Memory of the GPU of exactly the size that is asked for.

A sanitizer knows where such memory ends to the byte; between unmapped pages it would only know the
pages. Imported in sanitizer runs only.
"""

import numpy as np
from cuda.bindings import driver as cu

from worker.gpu.launcher.device import GpuDevice, check

_ALWAYS_ALIGNED_BYTES = 256


class ExactMemory:
    """Allocations that live as long as the process."""

    def __init__(self, device: GpuDevice) -> None:
        self._stream = device.stream

    def take(self, size_bytes: int, align_bytes: int) -> int:
        """Return the address of `size_bytes` of memory, content undefined. Raises CudaError."""
        spare_bytes = align_bytes if align_bytes > _ALWAYS_ALIGNED_BYTES else 0
        start = int(check(cu.cuMemAlloc(max(1, size_bytes) + spare_bytes), "allocating memory"))
        return (start + spare_bytes) // align_bytes * align_bytes if spare_bytes else start

    def put(
        self, address: int, size_bytes: int, content: np.ndarray | None, *, poison: int | None
    ) -> None:
        """Write `content`; without any, bytes of `poison` or nothing. Raises CudaError."""
        if content is not None and content.nbytes:
            doing = "writing an argument"
            check(
                cu.cuMemcpyHtoDAsync(address, content.ctypes.data, content.nbytes, self._stream),
                doing,
            )
            self.wait()
        elif content is None and poison is not None:
            self.fill(address, size_bytes, poison)

    def fill(self, address: int, size_bytes: int, byte: int) -> None:
        """Set memory, in the order of the stream. Raises CudaError."""
        if size_bytes:
            check(cu.cuMemsetD8Async(address, byte, size_bytes, self._stream), "filling memory")

    def wait(self) -> None:
        """Wait for all work queued so far. Raises CudaError."""
        check(cu.cuStreamSynchronize(self._stream), "waiting for the GPU")
