"""A fake of cuda.bindings for machines without a GPU: its "GPU memory" is host memory.

It does work when it is queued. Kernels are Python functions, and it checks every access against the
mappings and their permissions. It models neither times nor the behaviour of a real driver.
"""
# ruff: noqa: N802, N815 - the names are the driver's

import ctypes
import itertools
import mmap
import sys
from enum import IntEnum
from types import ModuleType, SimpleNamespace

import numpy as np

from tests.unit.worker.gpu.fake_gpu_kernels import (
    check_memory,
    clear_registers,
    compare_runs,
    draw_uniform,
    pointer,
)

__all__ = ["draw_uniform", "pointer"]  # of kernels that tests write

PURE = {"contents", "fault", "kernel_parameters", "launcher", "launcher_order", "launcher_sandbox",
        "result_channel", "statistics", "timing_plan", "module_globals", "peak_flops",
        "output_memory", "iteration_selection", "run_comparison_ptx", "timed_iteration",
        "memory_checks_ptx", "register_clearing_ptx", "program_order", "op_fault"}  # fmt: skip
PAGE = 1 << 16
"""GPUs have pages of 2 MiB; smaller ones fill faster."""


class CUresult(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_ILLEGAL_ADDRESS = 700


OK = (CUresult.CUDA_SUCCESS,)


class Name(str):
    """A member of an enumeration."""

    __slots__ = ()

    def __int__(self):
        return 0


class AnyStructure:
    """A structure or an enumeration of which only names matter here."""

    def __getattr__(self, name):
        if name.startswith("CU"):
            return Name(name)
        self.__dict__[name] = AnyStructure()
        return self.__dict__[name]

    def __int__(self):
        return 0


class FakeDriver(ModuleType):
    """The driver calls that launchers make. `kernels` are by entry name."""

    def __init__(self, kernels, free_bytes=1 << 30):
        super().__init__("driver")
        self.kernels = {
            b"check_memory": check_memory,
            b"compare_runs": compare_runs,
            b"clear_registers": clear_registers,
            b"draw_uniform": draw_uniform,
            **kernels,
        }
        self.variables = {}
        self.free_bytes = free_bytes
        self.calls = []
        self.runs = 0
        self.writable, self.readable = {}, {}
        self._reserved, self._mapped_before, self.pinned = {}, set(), []
        self._error = None
        self._now = itertools.count()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name[:3] == "cu_" or name.startswith("CU_"):
            return 0
        return (
            AnyStructure() if name.endswith(("_flags", "Type", "attribute", "ID")) else AnyStructure
        )

    # mappings by address

    def cuMemCreate(self, size, _prop, _flags):
        if size > self.free_bytes:
            return CUresult.CUDA_ERROR_OUT_OF_MEMORY, None
        self.free_bytes -= size
        return *OK, SimpleNamespace(size=size)

    def cuMemRelease(self, handle):
        self.free_bytes += handle.size
        return OK

    def cuMemAddressReserve(self, size, align, _hint, _flags):
        room = mmap.mmap(-1, size + align)
        start = -(-ctypes.addressof(ctypes.c_char.from_buffer(room)) // align) * align
        self._reserved[start] = room
        return *OK, start

    def cuMemAddressFree(self, start, _size):
        self._mapped_before.discard(start)
        del self._reserved[start]
        return OK

    def cuMemMap(self, start, size, _offset, _handle, _flags):
        if start in self._mapped_before:  # new memory is already zero
            ctypes.memset(start, 0, size)
        self._mapped_before.add(start)
        return OK

    def cuMemSetAccess(self, start, size, described, _count):
        self.writable.pop(start, None)
        self.readable[start] = size
        if described[0].flags.endswith("READWRITE"):
            self.writable[start] = size
        return OK

    def cuMemUnmap(self, start, _size):
        self.readable.pop(start)
        self.writable.pop(start, None)
        return OK

    def cuMemAlloc(self, size):
        _, start = self.cuMemAddressReserve(size, 256, 0, 0)
        self.readable[start] = self.writable[start] = size
        return *OK, start

    def cuMemFree(self, start):
        self.writable.pop(start)
        self.readable.pop(start)
        del self._reserved[start]
        return OK

    def cuMemHostAlloc(self, size, _flags):
        self.pinned.append(ctypes.create_string_buffer(size))
        return *OK, ctypes.addressof(self.pinned[-1])

    def cuMemHostGetDevicePointer(self, host, _flags):
        return *OK, host

    def cuMemGetInfo(self):
        return *OK, self.free_bytes, 1 << 30

    # work

    def _may(self, ranges, start, size):
        return any(at <= start and start + size <= at + length for at, length in ranges.items())

    def cuMemsetD8Async(self, start, byte, size, _stream):
        self.calls.append(("memset", start, size))
        if not self._may(self.writable, start, size):
            return (CUresult.CUDA_ERROR_INVALID_VALUE,)
        ctypes.memset(start, byte, size)
        return OK

    def cuMemsetD32Async(self, start, word, count, stream):
        return self.cuMemsetD8Async(start, word & 255, 4 * count, stream)

    def cuMemcpyHtoDAsync(self, target, source, size, _stream):
        self.calls.append(("upload", target, size))
        return self._copy(target, source, size, self._may(self.writable, target, size))

    def cuMemcpyDtoHAsync(self, target, source, size, _stream):
        self.calls.append(("read", source, size))
        return self._copy(target, source, size, self._may(self.readable, source, size))

    def cuMemcpyDtoH(self, target, source, size):
        return self.cuMemcpyDtoHAsync(target, source, size, None)

    def cuMemcpyDtoDAsync(self, target, source, size, _stream):
        self.calls.append(("copy", target, size))
        may = self._may(self.writable, target, size) and self._may(self.readable, source, size)
        return self._copy(target, source, size, may)

    def _copy(self, target, source, size, may):
        if not may:
            return (CUresult.CUDA_ERROR_INVALID_VALUE,)
        ctypes.memmove(target, source, size)
        return OK

    def cuModuleLoadData(self, cubin):
        return *OK, cubin

    def cuModuleGetFunction(self, _module, name):
        return *OK, self.kernels[name]

    def cuModuleGetGlobal(self, _module, name):
        if name not in self.variables:
            return CUresult.CUDA_ERROR_INVALID_VALUE, None, 0
        return *OK, *self.variables[name]

    def cuFuncGetAttribute(self, attribute, _function):
        return *OK, 1024 if attribute.endswith("MAX_THREADS_PER_BLOCK") else 0

    def cuLaunchKernel(self, function, x, y, z, *rest):
        return self._launch(function, rest[5], (x, y, z))

    def cuLaunchKernelEx(self, config, function, parameters, _extra):
        self.runs += 1
        grid = (config.gridDimX, config.gridDimY, config.gridDimZ)
        return self._launch(function, parameters, grid)

    def _launch(self, function, parameters, grid):
        pointers = ctypes.cast(parameters, ctypes.POINTER(ctypes.c_void_p))
        try:
            function(self, pointers, grid)
        except MemoryError:
            self._error = CUresult.CUDA_ERROR_ILLEGAL_ADDRESS
        return OK

    def memory(self, start, size, *, write=False):
        """Return GPU memory for a kernel, or raise MemoryError if it is not mapped."""
        if not self._may(self.writable if write else self.readable, start, size):
            raise MemoryError
        return np.frombuffer((ctypes.c_uint8 * size).from_address(start), np.uint8)

    def cuStreamSynchronize(self, _stream):
        return (self._error,) if self._error else OK

    cuEventSynchronize = cuStreamSynchronize

    def cuEventCreate(self, _flags):
        return *OK, SimpleNamespace(at=0)

    def cuEventRecord(self, event, _stream):
        event.at = next(self._now)
        return OK

    def cuEventElapsedTime(self, start, end):
        return *OK, (end.at - start.at) / 100

    def cuGetErrorName(self, status):
        return *OK, status.name.encode()

    def cuGetErrorString(self, status):
        return *OK, status.name.lower().encode()

    def _nothing(self, *_):
        return OK

    cuModuleUnload = cuFuncSetAttribute = cuFuncSetCacheConfig = _nothing
    cuStreamWaitValue32 = cuEventDestroy = _nothing


class NvmlError(Exception):
    """Report that NVML is missing."""


def install(monkeypatch, kernels, **settings):
    """Install the fake where launchers import CUDA from, and return it."""
    driver = FakeDriver(kernels, **settings)
    driver.CUresult = CUresult
    driver.cuuint64_t = driver.cuuint32_t = driver.CUstream = int
    nvml = ModuleType("nvml")
    nvml.NvmlError = NvmlError

    def refuse():
        raise NvmlError

    nvml.init_v2 = refuse
    packages = (
        "worker.gpu.launcher.",
        "worker.gpu.timing_integrity.",
        "worker.gpu.inputs.",
        "programs.gpu.",
    )
    for name in [name for name in sys.modules if name.startswith(packages)]:
        if name.rpartition(".")[2] not in PURE:  # a module that imported the driver before
            monkeypatch.delitem(sys.modules, name)
    bindings = ModuleType("cuda.bindings")
    bindings.driver, bindings.nvml = driver, nvml
    cuda = ModuleType("cuda")
    cuda.bindings = bindings
    named = {"cuda": cuda, "cuda.bindings": bindings, "cuda.bindings.driver": driver,
             "cuda.bindings.nvml": nvml}  # fmt: skip
    for name, module in named.items():
        monkeypatch.setitem(sys.modules, name, module)
    return driver
