"""A loaded kernel: its module, what it takes of a multiprocessor, and how it is launched.

Launches as Triton's own launcher does (third_party/nvidia/backend/driver.c): the grid's x times the
CTAs of a cluster, 32 threads a warp, and its launch attributes. Imported in launchers only.
"""

from dataclasses import dataclass, replace
from math import prod
from typing import Any

from cuda.bindings import driver as cu

from compiler.abi import Abi
from worker.gpu.launcher.device import CudaError, GpuDevice, check
from worker.gpu.launcher.fault import NOT_LOADABLE, GpuFault, JobFailed, KernelFault

_WITHOUT_OPT_IN_BYTES = 48 << 10
_PORTABLE_CLUSTER = 8
_MAX_GRID = (2**31 - 1, 65_535, 65_535)


@dataclass(frozen=True, slots=True)
class LoadedKernel:
    """A function on a GPU, ready to be launched with any parameters."""

    module: Any
    function: Any
    config: Any
    attributes: Any
    """Keeps alive what `config` points to."""
    empty: bool
    resources: dict[str, int]

    def launch(self, parameters: int) -> None:
        """Queue one run; `parameters` is the address of the pointers to them. Raises CudaError.

        An empty grid runs nothing, as with Triton.
        """
        if not self.empty:
            check(cu.cuLaunchKernelEx(self.config, self.function, parameters, 0), "launching")

    def at(self, device: GpuDevice, abi: Abi, grid: tuple[int, int, int]) -> "LoadedKernel":
        """Return the same kernel for another grid. Raises KernelFault if the grid is too large."""
        blocks = _blocks(abi, grid)
        config = _config(device, abi, blocks, self.attributes)
        return replace(self, config=config, empty=prod(blocks) == 0)

    def unload(self) -> None:
        """Remove the code from the GPU. Raises CudaError."""
        check(cu.cuModuleUnload(self.module), "unloading the module")


def load(device: GpuDevice, cubin: bytes, abi: Abi, grid: tuple[int, int, int]) -> LoadedKernel:
    """Load a kernel for this grid.

    Raises KernelFault if it can never run on this GPU, JobFailed if it was built for another,
    CudaError.
    """
    blocks = _blocks(abi, grid)
    module, function = _find(device, cubin, abi.entry)
    try:
        resources = _resources(function)
        _check_fit(device, abi, resources)
        _opt_in(function, abi, resources)
    except KernelFault:
        check(cu.cuModuleUnload(module), "unloading the module")
        raise
    attributes = _attributes(abi)
    config = _config(device, abi, blocks, attributes)
    return LoadedKernel(module, function, config, attributes, prod(blocks) == 0, resources)


def _find(device: GpuDevice, cubin: bytes, entry: str) -> tuple[Any, Any]:
    try:
        module = check(cu.cuModuleLoadData(cubin), "loading the cubin")
        return module, check(cu.cuModuleGetFunction(module, entry.encode()), "finding the entry")
    except CudaError as error:
        if error.name in NOT_LOADABLE:
            message = f"the kernel does not load on {device.name} ({device.target}): {error}"
            raise JobFailed("module_not_loadable", message) from error
        raise


def _blocks(abi: Abi, grid: tuple[int, int, int]) -> tuple[int, int, int]:
    blocks = (grid[0] * abi.cluster[0], grid[1], grid[2])
    if any(extent > most for extent, most in zip(blocks, _MAX_GRID, strict=True)):
        message = f"a grid of {blocks} blocks; at most {_MAX_GRID} are possible"
        raise KernelFault(GpuFault.DOES_NOT_FIT, message)
    return blocks


def _resources(function: Any) -> dict[str, int]:
    names = {
        "registers": "NUM_REGS",
        "local_bytes": "LOCAL_SIZE_BYTES",
        "static_shared_bytes": "SHARED_SIZE_BYTES",
        "max_threads": "MAX_THREADS_PER_BLOCK",
    }
    of = cu.CUfunction_attribute
    return {
        key: int(
            check(
                cu.cuFuncGetAttribute(getattr(of, f"CU_FUNC_ATTRIBUTE_{name}"), function),
                f"asking for {name}",
            )
        )
        for key, name in names.items()
    }


def _check_fit(device: GpuDevice, abi: Abi, resources: dict[str, int]) -> None:
    shared = abi.dynamic_shared_bytes + resources["static_shared_bytes"]
    if shared > device.shared_bytes:
        message = f"a block needs {shared} bytes of shared memory; {device.name} has "
        raise KernelFault(GpuFault.DOES_NOT_FIT, f"{message}{device.shared_bytes}")
    threads = prod(abi.block)
    if threads > resources["max_threads"]:
        message = f"a block has {threads} threads; with {resources['registers']} registers each, "
        message += f"at most {resources['max_threads']} fit"
        raise KernelFault(GpuFault.DOES_NOT_FIT, message)


def _opt_in(function: Any, abi: Abi, resources: dict[str, int]) -> None:
    of = cu.CUfunction_attribute
    dynamic = abi.dynamic_shared_bytes
    if dynamic + resources["static_shared_bytes"] > _WITHOUT_OPT_IN_BYTES:
        attribute = of.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        check(cu.cuFuncSetAttribute(function, attribute, dynamic), "opting in to shared memory")
        prefer = cu.CUfunc_cache.CU_FUNC_CACHE_PREFER_SHARED
        check(cu.cuFuncSetCacheConfig(function, prefer), "preferring shared memory")
    if abi.cluster[0] > _PORTABLE_CLUSTER:
        attribute = of.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
        check(cu.cuFuncSetAttribute(function, attribute, 1), "allowing a large cluster")


def _attributes(abi: Abi) -> list[Any]:
    of = cu.CUlaunchAttributeID
    attributes = []
    if abi.pdl:
        attribute = _attribute(of.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
        attribute.value.programmaticStreamSerializationAllowed = 1
        attributes.append(attribute)
    if abi.cooperative:
        attribute = _attribute(of.CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
        attribute.value.cooperative = 1
        attributes.append(attribute)
    if (cluster := abi.cluster[0]) != 1:
        attribute = _attribute(of.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
        dimension = attribute.value.clusterDim
        dimension.x, dimension.y, dimension.z = cluster, 1, 1
        attributes.append(attribute)
        attribute = _attribute(of.CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE)
        spread = cu.CUclusterSchedulingPolicy.CU_CLUSTER_SCHEDULING_POLICY_SPREAD
        attribute.value.clusterSchedulingPolicyPreference = spread
        attributes.append(attribute)
    return attributes


def _attribute(kind: Any) -> Any:
    attribute = cu.CUlaunchAttribute()
    attribute.id = kind
    return attribute


def _config(
    device: GpuDevice, abi: Abi, blocks: tuple[int, int, int], attributes: list[Any]
) -> Any:
    config = cu.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = blocks
    config.blockDimX, config.blockDimY, config.blockDimZ = abi.block
    config.sharedMemBytes = abi.dynamic_shared_bytes
    config.hStream = device.stream
    config.attrs = attributes
    config.numAttrs = len(attributes)
    return config
