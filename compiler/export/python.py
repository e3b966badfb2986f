"""The export `python`: one module with the cubin and a launcher on cuda-python."""

import base64
import textwrap
from collections.abc import Iterator

from compiler.export.exported_kernel import Argument, ExportedKernel
from compiler.export.header_comment import about
from compiler.export.spelling import camel, spelling

_PREAMBLE = '''\
from __future__ import annotations

import base64
import ctypes
import struct
from typing import Any

from cuda.bindings import driver as cu


def _check(answer: tuple[Any, ...]) -> Any:
    """Return what the driver returned. Raises RuntimeError with the name of its error."""
    error, *values = answer
    if error != cu.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"CUDA: {error.name}")
    return values[0] if values else None


def _ensure_context() -> None:
    """Make the first GPU's primary context current, unless there is a current one."""
    _check(cu.cuInit(0))
    if int(_check(cu.cuCtxGetCurrent())) == 0:
        device = _check(cu.cuDeviceGet(0))
        _check(cu.cuCtxSetCurrent(_check(cu.cuDevicePrimaryCtxRetain(device))))


def _address(buffer: Any) -> int:
    """Return the device address of a number, a torch tensor, or a CUDA array."""
    if hasattr(buffer, "data_ptr"):
        return int(buffer.data_ptr())
    if hasattr(buffer, "__cuda_array_interface__"):
        return int(buffer.__cuda_array_interface__["data"][0])
    return int(buffer)


def _fp16(value: float) -> int:
    return int.from_bytes(struct.pack("<e", value), "little")


def _bf16(value: float) -> int:
    """Return the bits of a bf16, cut off as Triton's own launcher does it."""
    return int.from_bytes(struct.pack("<f", value)[2:], "little")
'''


def python_module(kernel: ExportedKernel, cubin: bytes) -> str:
    """Return the module; it needs cuda-python (`pip install cuda-python`)."""
    words = "\n".join(about(kernel))
    text = "\n".join(textwrap.wrap(base64.b64encode(cubin).decode(), 96))
    name = camel(kernel.name)
    usage = f"Use: `{name}().launch((x, y, z), ...)`; buffers are tensors or device addresses."
    return (
        f'"""{words}\n\n{usage}\n"""\n\n{_PREAMBLE}\n\n'
        f'CUBIN = base64.b64decode(\n    """\n{text}\n"""\n)\n\n\n{_class(kernel, name)}'
    )


def _class(kernel: ExportedKernel, name: str) -> str:
    return f'''\
class {name}:
    """The loaded kernel. Its code stays on the GPU until `unload`."""

    def __init__(self) -> None:
        _ensure_context()
        self._module = _check(cu.cuModuleLoadData(CUBIN))
        self._function = _check(cu.cuModuleGetFunction(self._module, b"{kernel.entry}"))
{"".join(_function_attributes(kernel))}
    def unload(self) -> None:
        """Remove the code from the GPU."""
        _check(cu.cuModuleUnload(self._module))

{_launch(kernel)}
{_config(kernel)}'''


def _launch(kernel: ExportedKernel) -> str:
    parameters = "".join(
        f"        {argument.identifier}: Any,\n" for argument in kernel.caller_arguments
    )
    values = "".join(f"            {_value(argument)},\n" for argument in kernel.arguments)
    scratch = [name for name, memory in kernel.scratch.items() if memory.size_bytes]
    return f'''\
    def launch(
        self,
        grid: tuple[int, int, int],
{parameters}        stream: int = 0,
    ) -> None:
        """Queue the kernel; `grid` is that of the Triton program."""
        blocks = grid[0] * grid[1] * grid[2]
        if blocks == 0:
            return
        global_scratch = profile_scratch = 0
{"".join(_allocation(name, kernel) for name in scratch)}\
        values = [
{values}        ]
        addresses = [
            value.getPtr() if hasattr(value, "getPtr") else ctypes.addressof(value)
            for value in values
        ]
        pointers = (ctypes.c_void_p * len(addresses))(*addresses)
        config = self._config(grid, int(stream))
        _check(cu.cuLaunchKernelEx(config, self._function, ctypes.addressof(pointers), 0))
{"".join(_release(name) for name in scratch)}'''


def _config(kernel: ExportedKernel) -> str:
    return f"""\
    def _config(self, grid: tuple[int, int, int], stream: int) -> Any:
        config = cu.CUlaunchConfig()
        config.gridDimX = grid[0] * {kernel.cluster}
        config.gridDimY, config.gridDimZ = grid[1], grid[2]
        config.blockDimX, config.blockDimY, config.blockDimZ = {kernel.threads}, 1, 1
        config.sharedMemBytes = {kernel.shared_bytes}
        config.hStream = cu.CUstream(stream)
        attributes: list[Any] = []
{"".join(_launch_attributes(kernel))}\
        config.attrs = attributes
        config.numAttrs = len(attributes)
        return config
"""


def _value(argument: Argument) -> str:
    if argument.kind in {"global_scratch", "profile_scratch"}:
        return f"ctypes.c_void_p(int({argument.kind}))"
    if argument.kind == "pointer":
        return f"ctypes.c_void_p(_address({argument.identifier}))"
    if argument.kind == "tensormap":
        return argument.identifier
    value = argument.identifier
    if argument.type in {"fp16", "bf16"}:
        value = f"_{argument.type}({value})"
    elif argument.type not in {"fp32", "fp64"}:
        value = f"int({value})"
    return f"ctypes.{spelling(argument.type).ctypes}({value})"


def _function_attributes(kernel: ExportedKernel) -> Iterator[str]:
    wanted = {
        "MAX_DYNAMIC_SHARED_SIZE_BYTES": kernel.shared_bytes if kernel.opts_in_to_shared else 0,
        "NON_PORTABLE_CLUSTER_SIZE_ALLOWED": int(kernel.is_large_cluster),
    }
    for name, value in wanted.items():
        if value:
            yield (
                f"        attribute = cu.CUfunction_attribute.CU_FUNC_ATTRIBUTE_{name}\n"
                f"        _check(cu.cuFuncSetAttribute(self._function, attribute, {value}))\n"
            )


def _launch_attributes(kernel: ExportedKernel) -> Iterator[str]:
    spread = "cu.CUclusterSchedulingPolicy.CU_CLUSTER_SCHEDULING_POLICY_SPREAD"
    if kernel.is_pdl:
        yield _attribute(
            "PROGRAMMATIC_STREAM_SERIALIZATION", "programmaticStreamSerializationAllowed = 1"
        )
    if kernel.is_cooperative:
        yield _attribute("COOPERATIVE", "cooperative = 1")
    if kernel.cluster != 1:
        yield _attribute(
            "CLUSTER_DIMENSION",
            f"clusterDim.x = {kernel.cluster}",
            "clusterDim.y = 1",
            "clusterDim.z = 1",
        )
        yield _attribute(
            "CLUSTER_SCHEDULING_POLICY_PREFERENCE", f"clusterSchedulingPolicyPreference = {spread}"
        )


def _attribute(name: str, *values: str) -> str:
    return (
        "        attribute = cu.CUlaunchAttribute()\n"
        f"        attribute.id = cu.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_{name}\n"
        + "".join(f"        attribute.value.{value}\n" for value in values)
        + "        attributes.append(attribute)\n"
    )


def _allocation(name: str, kernel: ExportedKernel) -> str:
    size_bytes = kernel.scratch[name].size_bytes * kernel.cluster
    return f"        {name} = _check(cu.cuMemAllocAsync(blocks * {size_bytes}, int(stream)))\n"


def _release(name: str) -> str:
    return f"        _check(cu.cuMemFreeAsync({name}, int(stream)))\n"
