"""A tiny kernel that shows whether a GPU still works. Imported in launchers only."""

import numpy as np
from cuda.bindings import driver as cu

from worker.gpu.launcher.device import GpuDevice, check
from worker.gpu.launcher.fault import JobFailed
from worker.gpu.launcher.guarded_memory import GuardedMemory
from worker.gpu.launcher.kernel_parameters import ParameterBlock

_THREADS = 1024
_ADDED = 7
_PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry add(.param .u64 buffer)
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<3>;
    ld.param.u64 %rd1, [buffer];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd2, %rd2, %rd3;
    ld.global.u32 %r2, [%rd2];
    add.s32 %r2, %r2, 7;
    st.global.u32 [%rd2], %r2;
    ret;
}
\0"""


def check_health(device: GpuDevice, memory: GuardedMemory) -> None:
    """Add a number to a thousand others on the GPU. Raises CudaError, JobFailed when it is wrong.

    The kernel is PTX, so that it suits every GPU.
    """
    module = check(cu.cuModuleLoadData(_PTX), "loading the health kernel")
    function = check(cu.cuModuleGetFunction(module, b"add"), "finding the health kernel")
    numbers = np.arange(_THREADS, dtype=np.uint32)
    block = memory.take(numbers.nbytes, 16)
    memory.write(block.address, numbers.view(np.uint8))
    parameters = ParameterBlock([block.address.to_bytes(8, "little")])
    launched = cu.cuLaunchKernel(
        function, 1, 1, 1, _THREADS, 1, 1, 0, device.stream, parameters.address, 0
    )
    check(launched, "launching the health kernel")
    result = memory.read(block.address, numbers.nbytes).view(np.uint32)
    check(cu.cuModuleUnload(module), "unloading the health kernel")
    memory.scrub()
    if not np.array_equal(result, numbers + _ADDED):
        raise JobFailed("device_error", f"the health kernel calculated wrongly on {device.name}")
