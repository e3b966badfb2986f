"""One GPU with a live context in this process, and CUDA's driver API with errors as exceptions.

Imported in launchers only.
"""

from dataclasses import dataclass
from typing import Any

from cuda.bindings import driver as cu

_SUCCESS = cu.CUresult.CUDA_SUCCESS


class CudaError(Exception):
    """A driver call failed; `name` is CUDA's own, such as CUDA_ERROR_ILLEGAL_ADDRESS."""

    def __init__(self, name: str, words: str, doing: str) -> None:
        super().__init__(f"{doing}: {name}, {words}")
        self.name = name


def check(result: tuple[Any, ...], doing: str) -> Any:
    """Return what a call of cuda-bindings gave besides its status: nothing, a value or a tuple.

    Raises CudaError; `doing` describes what was tried.
    """
    status, *values = result
    if status != _SUCCESS:
        raise CudaError(*_words(status), doing)
    if not values:
        return None
    return values[0] if len(values) == 1 else tuple(values)


def _words(status: Any) -> tuple[str, str]:
    _, name = cu.cuGetErrorName(status)
    _, text = cu.cuGetErrorString(status)
    return (name or b"CUDA_ERROR_UNKNOWN").decode(), (text or b"no text").decode()


_ATTRIBUTES = cu.CUdevice_attribute


@dataclass(frozen=True, slots=True)
class GpuDevice:
    """A GPU that kernels can be run on, and the limits that decide whether they fit."""

    ordinal: int
    handle: Any
    stream: Any
    name: str
    uuid: str
    capability: tuple[int, int]
    driver_version: int
    multiprocessors: int
    memory_bytes: int
    l2_bytes: int
    shared_bytes: int
    """Most shared memory of one block, static and dynamic, after opting in."""
    granularity_bytes: int
    """The page size: memory is mapped in multiples of it."""
    clock_hz: float
    """The highest clock of the multiprocessors."""

    @property
    def target(self) -> str:
        """The target that kernels for it are compiled to."""
        major, minor = self.capability
        return f"cuda:{major}{minor}"

    def facts(self) -> dict[str, Any]:
        """Return what the worker wants to know, as JSON."""
        return {
            "ordinal": self.ordinal,
            "target": self.target,
            "model": self.name,
            "uuid": self.uuid,
            "num_sms": self.multiprocessors,
            "memory_bytes": self.memory_bytes,
            "l2_bytes": self.l2_bytes,
            "shared_bytes": self.shared_bytes,
            "cuda": f"{self.driver_version // 1000}.{self.driver_version % 1000 // 10}",
        }


def count() -> int:
    """Return how many GPUs this process sees. Raises CudaError."""
    check(cu.cuInit(0), "starting CUDA")
    return int(check(cu.cuDeviceGetCount(), "counting GPUs"))


def open_device(ordinal: int) -> GpuDevice:
    """Make a context on a GPU, current in this thread. Raises CudaError."""
    check(cu.cuInit(0), "starting CUDA")
    handle = check(cu.cuDeviceGet(ordinal), f"finding GPU {ordinal}")
    context = check(cu.cuDevicePrimaryCtxRetain(handle), "making a context")
    check(cu.cuCtxSetCurrent(context), "entering the context")
    flags = int(cu.CUstream_flags.CU_STREAM_NON_BLOCKING)
    stream = check(cu.cuStreamCreate(flags), "making a stream")
    return _describe(ordinal, handle, stream)


def describe(ordinal: int) -> dict[str, Any]:
    """Return the facts of a GPU without making a context on it. Raises CudaError."""
    check(cu.cuInit(0), "starting CUDA")
    handle = check(cu.cuDeviceGet(ordinal), f"finding GPU {ordinal}")
    return _describe(ordinal, handle, None).facts()


def _describe(ordinal: int, handle: Any, stream: Any) -> GpuDevice:
    name = check(cu.cuDeviceGetName(256, handle), "naming the GPU")
    uuid = check(cu.cuDeviceGetUuid(handle), "identifying the GPU")
    return GpuDevice(
        ordinal=ordinal,
        handle=handle,
        stream=stream,
        name=name.split(b"\0")[0].decode(),
        uuid=_uuid_text(bytes(uuid.bytes)),
        capability=(
            _attribute(handle, "COMPUTE_CAPABILITY_MAJOR"),
            _attribute(handle, "COMPUTE_CAPABILITY_MINOR"),
        ),
        driver_version=int(check(cu.cuDriverGetVersion(), "asking for the driver's version")),
        multiprocessors=_attribute(handle, "MULTIPROCESSOR_COUNT"),
        memory_bytes=int(check(cu.cuDeviceTotalMem(handle), "asking for the GPU's memory")),
        l2_bytes=_attribute(handle, "L2_CACHE_SIZE"),
        shared_bytes=_attribute(handle, "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
        granularity_bytes=_granularity(ordinal),
        clock_hz=_attribute(handle, "CLOCK_RATE") * 1e3,
    )


def _attribute(handle: Any, name: str) -> int:
    attribute = getattr(_ATTRIBUTES, f"CU_DEVICE_ATTRIBUTE_{name}")
    return int(check(cu.cuDeviceGetAttribute(attribute, handle), f"asking for {name}"))


def allocation_of(ordinal: int) -> Any:
    """Return the properties of memory on GPU `ordinal` that is not shared."""
    properties = cu.CUmemAllocationProp()
    properties.type = cu.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    properties.location.type = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    properties.location.id = ordinal
    return properties


def _granularity(ordinal: int) -> int:
    flag = cu.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
    result = cu.cuMemGetAllocationGranularity(allocation_of(ordinal), flag)
    return int(check(result, "asking for the mapping granularity"))


def _uuid_text(raw: bytes) -> str:
    text = raw.hex()
    return "GPU-" + "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:32]))
