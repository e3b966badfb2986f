"""The state that a program launcher keeps between the programs of its caller: a GPU under torch.

torch uses the device's stream, so that kernels, checks and clocks queue after torch's work. Only
program launchers import this.
"""

import ctypes
import gc
from contextlib import suppress
from typing import Any

import torch
from cuda.bindings import driver as cu

from compiler.abi import Abi
from programs.gpu.cuda_timing import CudaTiming
from programs.gpu.tensor_guards import TensorGuards
from programs.replay import warming_networks
from programs.replay.live_tensors import in_order
from worker.gpu.launcher.device import GpuDevice, check
from worker.gpu.launcher.loaded_kernel import LoadedKernel, load
from worker.gpu.launcher.output_memory import OutputMemory, SharedOutput, is_shared
from worker.gpu.launcher.run_outputs import Output, Send, send_output
from worker.gpu.launcher.tensor_map import TensorMaps
from worker.gpu.launcher.timing import Clocks

_OF_THIS_PROCESS = 0
"""The ordinal of its GPU: the process sees only one."""
_OUTPUTS_AHEAD = 2
"""Buffers of one size: for the outputs of both calls."""


class GpuProgramContext:
    """A GPU, its stream, and the host memory for outputs."""

    def __init__(self, device: GpuDevice) -> None:
        self.device = device
        self.torch_device = torch.device("cuda", _OF_THIS_PROCESS)
        self.maps = TensorMaps(device.driver_version)
        self.clocks = Clocks(device.uuid)
        self._outputs = OutputMemory(most_alike=_OUTPUTS_AHEAD)
        self._loaded: list[LoadedKernel] = []
        torch.cuda.init()
        stream = torch.cuda.ExternalStream(int(device.stream), device=self.torch_device)
        torch.cuda.set_stream(stream)
        self.timing = CudaTiming(device, self.clocks)
        """Times programs; closed after each."""
        self.guards = TensorGuards(device)
        """Memory for the tensors of a checked replay."""
        self._lasting_bytes = 0

    def warm_up(self) -> None:
        """Load what most programs need, so that they need not wait for it. Raises CudaError."""
        torch.set_num_threads(1)
        warming_networks.run_all((torch.device("meta"), self.torch_device))
        self._give_back()
        self._lasting_bytes = torch.cuda.memory_allocated()
        gc.freeze()  # scanning all of torch's objects takes longer than most programs

    def facts(self) -> dict[str, Any]:
        """Return the facts about the GPU for the worker, as JSON."""
        return self.device.facts() | {"driver": self.clocks.driver, "torch": torch.__version__}

    def load(self, cubin: bytes, abi: Abi, grid: tuple[int, int, int]) -> LoadedKernel:
        """Load a kernel until the end of the program; see `loaded_kernel.load`."""
        loaded = load(self.device, cubin, abi, grid)
        self._loaded.append(loaded)
        return loaded

    def wait(self) -> None:
        """Wait for all work queued so far. Raises CudaError."""
        check(cu.cuStreamSynchronize(self.device.stream), "waiting for the GPU")

    def free_cached_memory(self) -> int:
        """Free the memory that torch caches; return the free bytes.

        A reference needs it when it runs after its program in one process. Raises CudaError.
        """
        gc.collect()
        self.wait()
        torch.cuda.empty_cache()
        free, _ = check(cu.cuMemGetInfo(), "asking for free memory")
        return int(free)

    def remove_data(self) -> bool:
        """Remove all data of a program from the GPU; return True if that worked. Raises CudaError.

        Memory that torch caches is zeroed and freed: the next program may get the same pages, and
        its kernels can read everything that is mapped.
        """
        while self._loaded:
            self._loaded.pop().unload()
        self._give_back()
        self.guards.end()
        left_bytes: int = torch.cuda.memory_allocated()
        return left_bytes <= self._lasting_bytes

    def _give_back(self) -> None:
        gc.collect()
        with suppress(AttributeError):  # not all versions of torch have it
            torch._C._cuda_clearCublasWorkspaces()
        check(cu.cuCtxSynchronize(), "waiting for the GPU")  # on whatever stream
        for segment in torch.cuda.memory_snapshot():
            _zero(segment, self.device)
        self.wait()
        torch.cuda.empty_cache()

    def send_tensor(self, send: Send, stage: str, tensor: torch.Tensor) -> None:
        """Send a tensor's elements in C order; a `stage` is `output:0:1`. Raises CudaError."""
        kind, _, name = stage.partition(":")
        output = self._read(tensor)
        try:
            send_output(send, kind, name, output)
        finally:
            close_output(output)

    def _read(self, tensor: torch.Tensor) -> Output:
        """Return a tensor's elements in C order, large ones in memory that the worker maps."""
        plain = in_order(tensor)
        size_bytes = plain.numel() * plain.itemsize
        if not is_shared(size_bytes):
            octets = plain.view(torch.uint8) if size_bytes else plain
            data: bytes = octets.cpu().numpy().tobytes()
            return data

        def fill(address: int) -> None:
            if plain.device.type == "cpu":
                ctypes.memmove(address, plain.data_ptr(), size_bytes)
                return
            stream = torch.cuda.current_stream().cuda_stream
            copied = cu.cuMemcpyDtoHAsync(address, plain.data_ptr(), size_bytes, stream)
            check(copied, "reading an output")
            check(cu.cuStreamSynchronize(stream), "reading an output")

        return self._outputs.fill(size_bytes, fill)


def close_output(output: Output) -> None:
    """Close an output: a launcher lives long, and has only 1,024 file descriptors."""
    if isinstance(output, SharedOutput):
        output.close()


def _zero(segment: dict[str, object], device: GpuDevice) -> None:
    """Zero the parts of one of torch's segments that hold no tensor."""
    address = int(str(segment["address"]))
    blocks = segment["blocks"]
    assert isinstance(blocks, list)
    for block in blocks:
        size_bytes = int(block["size"])
        if block["state"] != "active_allocated":
            filled = cu.cuMemsetD8Async(address, 0, size_bytes, device.stream)
            check(filled, "zeroing memory")
        address += size_bytes
