"""Replaces `torch.cuda` and Triton's driver by fakes that report one H100 with its default stream.

Nothing here may call a driver. Calls that would return a tensor's value or a time are refused. A
program that creates a stream is refused at that line. Waiting for the default stream, or for an
event, makes the host wait for copies that do not block.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, NoReturn, Self

import torch
import triton

from programs.recorder.host_copies import HostCopies
from programs.recorder.recording import current, refused
from programs.recorder.torch_patches.opaque_values import OpaqueValue, opaque_time

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
_REASON = "stream"


class DeviceContext:
    """Replaces `torch.cuda.device`: a context of the only device."""

    def __init__(self, device: Any = None) -> None:
        _only_first(device)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing."""


class RefusedGenerators:
    """Replaces the tuple of CUDA generators, as a recording does not have their states."""

    def __getitem__(self, _: Any) -> NoReturn:
        refused("random_state", "it uses torch.cuda.default_generators")

    def __len__(self) -> int:
        return 1


class DriverUtilities:
    """Device properties by Triton's driver."""

    def get_device_properties(self, device: int = 0) -> dict[str, int]:
        """Return the properties of an H100."""
        del device
        return dict(_TRITON_PROPERTIES)


class FakeCudaDriver:
    """Replaces Triton's driver: one device of compute capability 9.0."""

    utils = DriverUtilities()

    def get_current_target(self) -> Any:
        """Return the target of an H100."""
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", 90, 32)

    def get_current_device(self) -> int:
        """Return the only device."""
        return 0

    def set_current_device(self, device: Any) -> None:
        """Refuse all devices but the first."""
        _only_first(device)

    def get_current_stream(self, device: Any = 0) -> int:
        """Return the handle of the default stream."""
        del device
        return 0

    def get_active_torch_device(self) -> torch.device:
        """Return the device of tensors."""
        return torch.device("cuda", 0)

    def get_device_interface(self) -> Any:
        """Return torch's CUDA interface."""
        return torch.cuda

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        refused("unsupported_launch", f"it uses {name!r} of Triton's driver")


def install() -> None:
    """Replace torch's and Triton's own functions."""
    for name, answer in _replacements().items():
        for module in (torch.cuda, torch.cuda.streams, torch.cuda.graphs):
            if module is torch.cuda or hasattr(module, name):
                setattr(module, name, answer)
    _install_streams()
    core: Any = torch._C
    for name in [name for name in vars(core) if name.startswith("_cuda_")]:
        delattr(core, name)  # those of a CUDA build call the driver; a CPU build has none
    core._cuda_getCurrentRawStream = _zero
    core._cuda_getDevice = _zero
    core._cuda_setDevice = _only_first
    core._cuda_getDeviceCount = _answering(1)
    cuda: Any = torch.cuda
    cuda._cudart = None
    version: Any = torch.version
    version.cuda = version.cuda or "13.0"
    triton.runtime.driver.set_active(FakeCudaDriver())
    import torch.utils.cpp_extension as extensions

    for name in ("load", "load_inline"):
        setattr(extensions, name, _refusing("inline_cuda", f"it calls cpp_extension.{name}"))


def _replacements() -> dict[str, Any]:
    return {
        **_device_replacements(),
        **_stream_replacements(),
        "CUDAGraph": _refusing("cuda_graph", "it uses torch.cuda.CUDAGraph"),
        "graph": _refusing("cuda_graph", "it uses torch.cuda.graph"),
        "make_graphed_callables": _refusing(
            "cuda_graph", "it uses torch.cuda.make_graphed_callables"
        ),
        "graph_pool_handle": _refusing("cuda_graph", "it uses torch.cuda.graph_pool_handle"),
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


def _device_replacements() -> dict[str, Any]:
    return {
        "is_available": _answering(True),
        "is_initialized": _answering(True),
        "_lazy_init": _nothing,
        "init": _nothing,
        "device_count": _answering(1),
        "current_device": _zero,
        "set_device": _only_first,
        "device": DeviceContext,
        "_DeviceGuard": DeviceContext,
        "default_generators": RefusedGenerators(),
        "device_of": DeviceContext,
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
    """Refuse all CUDA devices but the first, as the fake guard has only one."""
    if isinstance(device, torch.Tensor):
        device = device.device
    index = device if isinstance(device, int) else torch.device(device or "cuda").index
    if index is not None and index > 0:
        refused("other_device", f"it uses CUDA device {index}")


def _refusing(reason: str, detail: str) -> Callable[..., NoReturn]:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        refused(reason, detail)

    return refuse


class Stream:
    """The default stream. A program that creates another one is refused."""

    priority = cuda_stream = stream_id = 0
    device = torch.device("cuda", 0)

    def __init__(self, device: Any = None, *_: Any, **__: Any) -> None:
        _check_device(device)
        refused(
            _REASON,
            "it creates a CUDA stream, but programs run in the default stream: remove the stream, "
            "and the waits for it",
        )

    @classmethod
    def priority_range(cls) -> tuple[int, int]:
        """Return the range of an H100."""
        return 0, -5

    def wait_stream(self, stream: Stream) -> None:
        """Do nothing, as there is one stream."""

    def wait_event(self, event: FakeEvent) -> None:
        """Do nothing, as the event was recorded in this stream."""

    def synchronize(self) -> None:
        """Make the host wait for all earlier ops."""
        _copies().wait()

    def query(self) -> bool:
        """Return True, after a wait."""
        _copies().wait()
        return True

    def record_event(self, event: FakeEvent | None = None) -> FakeEvent:
        """Record an event after all earlier ops, and return it."""
        event = FakeEvent() if event is None else event
        event.record(self)
        return event

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream)

    def __hash__(self) -> int:
        return 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...


_DEFAULT: Stream = object.__new__(Stream)


class StreamContext:
    """Replaces `torch.cuda.stream`; the default stream, or None, changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


class FakeEvent:
    """A CUDA event: the copies that had started when it was recorded."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self._started = 0

    def record(self, _: Stream | None = None) -> None:
        """Mark all ops so far."""
        self._started = _copies().started

    def wait(self, _: Stream | None = None) -> None:
        """Do nothing, as later ops run in the same stream."""

    def synchronize(self) -> None:
        """Make the host wait for this event."""
        _copies().wait(self._started)

    def query(self) -> bool:
        """Return True, after a wait."""
        self.synchronize()
        return True

    def elapsed_time(self, _: Any) -> OpaqueValue:
        """Return an opaque time: it can be printed, but not compared."""
        return opaque_time("events")

    @classmethod
    def from_ipc_handle(cls, *_: Any) -> NoReturn:
        """Refuse an event of another process."""
        refused(_REASON, "it opens an event of another process")

    def ipc_handle(self) -> NoReturn:
        """Refuse to share an event with another process."""
        refused(_REASON, "it requests the handle of an event, to share with another process")


def _stream_replacements() -> dict[str, Any]:
    """Return the replacements of functions and classes of `torch.cuda`, by name."""
    return {
        "Stream": Stream,
        "Event": FakeEvent,
        "ExternalStream": _external,
        "get_stream_from_external": _external,
        "_set_stream_by_id": _external,
        "StreamContext": StreamContext,
        "stream": StreamContext,
        "current_stream": _default_stream,
        "default_stream": _default_stream,
        "set_stream": _set_stream,
        "synchronize": _synchronize,
    }


def _install_streams() -> None:
    """Make tensors and `torch.accelerator` use this stream."""
    module: Any = torch
    module.Stream, module.Event = Stream, FakeEvent
    tensor: Any = torch.Tensor
    tensor.record_stream = _record_stream
    accelerator: Any = torch.accelerator
    accelerator.current_stream = _default_stream
    accelerator.set_stream = _set_stream
    accelerator.synchronize = _synchronize


def _copies() -> HostCopies:
    recording = current()
    return HostCopies() if recording is None else recording.tape.copies


def _default_stream(device: Any = None) -> Stream:
    _check_device(device)
    return _DEFAULT


def _set_stream(_: Stream | None) -> None: ...


def _synchronize(device: Any = None) -> None:
    _check_device(device)
    _copies().wait()


def _record_stream(_: Any, stream: Stream) -> None:
    """Do nothing, as a tape never reuses memory."""
    if not isinstance(stream, Stream):
        raise TypeError("record_stream(): argument 's' must be Stream")


def _external(*_: Any, **__: Any) -> NoReturn:
    refused(_REASON, "it wraps a CUDA stream, but programs run in the default stream")


def _check_device(device: Any) -> None:
    if device is None or isinstance(device, int):
        index = device or 0
    else:
        kind = torch.device(device)
        index = kind.index or 0
        if kind.type != "cuda":
            refused("other_device", f"it requests a stream of {kind}")
    if index > 0:
        refused("other_device", f"it uses CUDA device {index}")
