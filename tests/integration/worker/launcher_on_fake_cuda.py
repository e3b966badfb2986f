"""A worker whose launcher is the real one on the fake CUDA, with Python kernels.

Compiling, comparing and answering are real. A kernel does what the Python function of its name
does, on every launch of its binary. `python -m tests.integration.worker.launcher_on_fake_cuda` is a
worker with such a GPU.
"""

import ctypes
import sys
from dataclasses import replace

import numpy as np

from tests.unit.worker.gpu import fake_cuda
from worker import __main__ as worker_main
from worker.launch.gpu import gpu_consumer

TARGET, MODEL = "cuda:90", "stand-in, no GPU"
BOOTSTRAP = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from tests.integration.worker.launcher_on_fake_cuda import launcher; launcher(sys.argv[2:])"
)


def floats(gpu, pointers, index, *, count_at=2, write=False):
    count = fake_cuda.pointer(pointers, count_at, ctypes.c_int32)
    address = fake_cuda.pointer(pointers, index)
    return gpu.memory(address, 4 * count, write=write).view(np.float32)


def double(gpu, pointers, _grid):
    floats(gpu, pointers, 1, write=True)[:] = 2 * floats(gpu, pointers, 0)


def add_kernel(gpu, pointers, _grid):
    x, y = (floats(gpu, pointers, index, count_at=3) for index in range(2))
    floats(gpu, pointers, 2, count_at=3, write=True)[:] = x + y


def runs_of_module(gpu):
    return gpu.memory(gpu.state, 4, write=True).view(np.uint32)


def skips_13_to_40(gpu, pointers, grid):
    runs = runs_of_module(gpu)
    if not 13 <= runs[0] <= 40:
        double(gpu, pointers, grid)
    runs += np.uint32(1)


def replays(gpu, pointers, grid):
    runs = runs_of_module(gpu)
    if runs[0] == 0:
        double(gpu, pointers, grid)
        gpu.__dict__["first"] = gpu.__dict__.get("first") or {}
        gpu.first.setdefault(gpu.state, floats(gpu, pointers, 1).copy())
    else:
        floats(gpu, pointers, 1, write=True)[:] = gpu.first[gpu.state]
    runs += np.uint32(1)


def right_for_one_seed(gpu, pointers, grid):
    double(gpu, pointers, grid)
    x = floats(gpu, pointers, 0)
    if x[0] != np.random.Generator(np.random.Philox(1)).uniform(0, 1, 1).astype(np.float32)[0]:
        floats(gpu, pointers, 1, write=True)[7] = 0


def nothing(_gpu, _pointers, _grid):
    """Take no time: one of the kernels that measure the device's peak."""


KERNELS = {
    one.__name__.encode(): one
    for one in (add_kernel, double, skips_13_to_40, replays, right_for_one_seed)
} | dict.fromkeys((b"nothing", b"read", b"copy", b"write"), nothing)


class _Patches:
    """Keeps the fake in place while this process lives."""

    @staticmethod
    def setitem(mapping, name, value):
        mapping[name] = value

    @staticmethod
    def delitem(mapping, name):
        del mapping[name]


def launcher(arguments):
    """Be a launcher on the fake CUDA."""
    gpu = fake_cuda.install(_Patches, KERNELS)
    from worker.gpu.launcher import launcher as real
    from worker.gpu.launcher.device import GpuDevice
    from worker.gpu.launcher.kept_inputs import KeptBudget
    from worker.gpu.launcher.launcher_context import LauncherContext
    from worker.gpu.launcher.result_channel import ResultChannel
    from worker.pool import frame

    _give_modules_state(gpu)
    channel = ResultChannel(int(arguments[0]))
    device = GpuDevice(0, None, None, MODEL, "GPU-0", (9, 0), 13000, 4, 1 << 30, 1 << 16, 1 << 16,
                       fake_cuda.PAGE, 1e9)  # fmt: skip
    context = LauncherContext(device, KeptBudget(16 << 20, 8 << 20))
    context.warm_up()
    facts = device.facts() | {"driver": None, "sandbox": ["none"], "start_ms": 0.0}
    channel.send(frame.NO_JOB, {"kind": "ready", "facts": facts})
    sys.exit(real._serve(channel, context))


def _give_modules_state(gpu):
    """Give each loaded module a zero-initialized word, under any name."""
    loaded, load = [], gpu.cuModuleLoadData

    def load_with_state(cubin):
        _, address = gpu.cuMemAlloc(16)
        ctypes.memset(address, 0, 16)
        loaded.append(address)
        gpu.__dict__["state"] = address
        return load(cubin)

    def unload(_module):
        loaded.pop()
        gpu.__dict__["state"] = loaded[-1] if loaded else 0
        return fake_cuda.OK

    gpu.cuModuleLoadData, gpu.cuModuleUnload = load_with_state, unload
    gpu.cuModuleGetGlobal = lambda _module, _name: (*fake_cuda.OK, gpu.state, 4)


def main():
    """Be a worker that claims to have one GPU."""

    async def one_gpu():
        return [{"ordinal": 0, "target": TARGET, "model": MODEL}]

    def launchers(ordinals, command, **others):
        return real(ordinals, replace(command, bootstrap=BOOTSTRAP), **others)

    real = gpu_consumer.Launchers
    gpu_consumer.gpus_here = one_gpu
    gpu_consumer.Launchers = launchers
    worker_main.main()


if __name__ == "__main__":
    sys.exit(main())
