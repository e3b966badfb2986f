"""Answers what programs ask of CUDA, in a process that has none: one H100.

Nothing here may reach a driver. What would give a value or a time is refused.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, NoReturn, Self

import torch
import triton

from programs.recorder.recording import refused
from programs.recorder.torch_patches import cuda_streams

_PROPERTIES = types.SimpleNamespace(
    name="NVIDIA H100 80GB HBM3",
    major=9,
    minor=0,
    total_memory=80 << 30,
    multi_processor_count=132,
    warp_size=32,
    max_threads_per_multi_processor=2048,
    max_threads_per_block=1024,
    regs_per_multiprocessor=65536,
    shared_memory_per_block=49152,
    shared_memory_per_block_optin=232448,
    shared_memory_per_multiprocessor=233472,
    L2_cache_size=50 << 20,
    is_integrated=0,
    is_multi_gpu_board=0,
    gcnArchName="",
)
_TRITON_PROPERTIES = {
    "max_shared_mem": 232448,
    "max_num_regs": 65536,
    "multiprocessor_count": 132,
    "warpSize": 32,
    "sm_clock_rate": 1980000,
    "mem_clock_rate": 2619000,
    "mem_bus_width": 5120,
}


class OneDevice:
    """What `torch.cuda.device(0)` is."""

    def __init__(self, device: Any = None) -> None:
        _only_first(device)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing."""


class NoGenerators:
    """The CUDA generators, whose states say what was drawn: there is none to ask."""

    def __getitem__(self, _: Any) -> NoReturn:
        refused("random_state", "it asks for CUDA's random generator")

    def __len__(self) -> int:
        return 1


class DriverUtilities:
    """What Triton's driver knows of the device."""

    def get_device_properties(self, device: int = 0) -> dict[str, int]:
        """Return the properties of an H100."""
        del device
        return dict(_TRITON_PROPERTIES)


class Driver:
    """What Triton's launching code asks: one device of compute capability 9.0."""

    utils = DriverUtilities()

    def get_current_target(self) -> Any:
        """Return the target that kernels would be compiled for."""
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", 90, 32)

    def get_current_device(self) -> int:
        """Return the only one."""
        return 0

    def set_current_device(self, device: Any) -> None:
        """Take the only one."""
        _only_first(device)

    def get_current_stream(self, device: Any = 0) -> int:
        """Return the only one."""
        del device
        return 0

    def get_active_torch_device(self) -> torch.device:
        """Return the device that tensors are on."""
        return torch.device("cuda", 0)

    def get_device_interface(self) -> Any:
        """Return what torch knows of CUDA."""
        return torch.cuda

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        refused("unsupported_launch", f"it asks for {name!r} of Triton's driver")


def install() -> None:
    """Put the answers in the place of torch's and Triton's own."""
    for name, answer in _answers().items():
        for module in (torch.cuda, torch.cuda.streams, torch.cuda.graphs):
            if module is torch.cuda or hasattr(module, name):
                setattr(module, name, answer)
    cuda_streams.install()
    core: Any = torch._C
    for name in [name for name in vars(core) if name.startswith("_cuda_")]:
        delattr(core, name)  # a CPU build has none of those that reach a driver
    core._cuda_getCurrentRawStream = _zero
    core._cuda_getDevice = _zero
    core._cuda_setDevice = _only_first
    core._cuda_getDeviceCount = _answering(1)
    cuda: Any = torch.cuda
    cuda._cudart = None
    version: Any = torch.version
    version.cuda = version.cuda or "13.0"
    triton.runtime.driver.set_active(Driver())
    import torch.utils.cpp_extension as extensions

    for name in ("load", "load_inline"):
        setattr(extensions, name, _refusing("inline_cuda", f"it calls cpp_extension.{name}"))


def _answers() -> dict[str, Any]:
    return {
        **_device_answers(),
        **cuda_streams.answers(),
        "CUDAGraph": _refusing("cuda_graph", "it makes a CUDA graph"),
        "graph": _refusing("cuda_graph", "it makes a CUDA graph"),
        "make_graphed_callables": _refusing("cuda_graph", "it makes a CUDA graph"),
        "graph_pool_handle": _refusing("cuda_graph", "it asks for the memory of a CUDA graph"),
        "is_current_stream_capturing": _answering(False),
        "empty_cache": _nothing,
        "ipc_collect": _nothing,
        "memory_allocated": _zero,
        "max_memory_allocated": _zero,
        "memory_reserved": _zero,
        "max_memory_reserved": _zero,
        "reset_peak_memory_stats": _nothing,
        "reset_max_memory_allocated": _nothing,
        "mem_get_info": _answering((79 << 30, 80 << 30)),
    }


def _device_answers() -> dict[str, Any]:
    return {
        "is_available": _answering(True),
        "is_initialized": _answering(True),
        "_lazy_init": _nothing,
        "init": _nothing,
        "device_count": _answering(1),
        "current_device": _zero,
        "set_device": _only_first,
        "device": OneDevice,
        "_DeviceGuard": OneDevice,
        "default_generators": NoGenerators(),
        "device_of": OneDevice,
        "_exchange_device": _zero,
        "_maybe_exchange_device": _zero,
        "get_device_capability": _answering((9, 0)),
        "get_device_properties": _answering(_PROPERTIES),
        "get_device_name": _answering(_PROPERTIES.name),
        "get_arch_list": _answering(["sm_90"]),
        "is_bf16_supported": _answering(True),
        "is_tf32_supported": _answering(True),
    }


def _answering(answer: Any) -> Callable[..., Any]:
    def call(*_: Any, **__: Any) -> Any:
        return answer

    return call


def _nothing(*_: Any, **__: Any) -> None: ...


def _zero(*_: Any, **__: Any) -> int:
    return 0


def _only_first(device: Any = None) -> None:
    """Refuse every CUDA device but the first: torch has no guard for another."""
    if isinstance(device, torch.Tensor):
        device = device.device
    index = device if isinstance(device, int) else torch.device(device or "cuda").index
    if index is not None and index > 0:
        refused("other_device", f"it uses the CUDA device {index}")


def _refusing(reason: str, detail: str) -> Callable[..., NoReturn]:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        refused(reason, detail)

    return refuse
