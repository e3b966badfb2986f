"""The export `c`: one header with the cubin and a launcher on the CUDA driver API."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.export.about import about
from compiler.export.c_declarations import DECLARATIONS
from compiler.export.kernel import Argument, Kernel
from compiler.export.spelling import spelling

_BYTES_A_LINE = 16


def c_header(kernel: Kernel, cubin: bytes) -> str:
    """Return the header; it is C99 and C++, and is linked with the driver (`-lcuda`)."""
    guard = f"TRITOND_{kernel.name.upper()}_{kernel.facts['key'][:16].upper()}_H"
    return "".join(
        (
            _comment(kernel),
            f"#ifndef {guard}\n#define {guard}\n\n",
            "#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n\n",
            DECLARATIONS,
            "\n",
            _image(kernel, cubin),
            _module(kernel),
            _launch(kernel),
            f"\n#endif /* {guard} */\n",
        )
    )


def _comment(kernel: Kernel) -> str:
    usage = [
        "",
        "Use, with a current CUDA context:",
        f"  {kernel.name}_module loaded;",
        f"  {kernel.name}_load(&loaded);",
        f"  {kernel.name}_launch(&loaded, stream, grid_x, grid_y, grid_z, ...);",
        f"  {kernel.name}_unload(&loaded);",
        "Every function returns CUDA_SUCCESS or what the driver returned. The grid is that of the",
        "Triton program. Include it in C or C++ and link with -lcuda.",
    ]
    lines = "".join(f" * {line}".rstrip() + "\n" for line in about(kernel) + usage)
    return f"/*\n{lines} */\n"


def _image(kernel: Kernel, cubin: bytes) -> str:
    rows = (cubin[at : at + _BYTES_A_LINE] for at in range(0, len(cubin), _BYTES_A_LINE))
    text = "".join("    " + " ".join(f"0x{byte:02x}," for byte in row) + "\n" for row in rows)
    return (
        "/* The cubin; the union aligns it. */\n"
        f"static const union {{\n    unsigned char bytes[{len(cubin)}];\n"
        f"    unsigned long long aligned;\n}} {kernel.name}_cubin = {{{{\n{text}}}}};\n\n"
    )


def _module(kernel: Kernel) -> str:
    name = kernel.name
    opts = "".join(
        f"    if (result == CUDA_SUCCESS)\n"
        f"        result = cuFuncSetAttribute(kernel->function, {attribute}, {value});\n"
        for attribute, value in _function_attributes(kernel)
    )
    return f"""\
typedef struct {{
    CUmodule module;
    CUfunction function;
}} {name}_module;

static inline CUresult {name}_load({name}_module *kernel) {{
    CUresult result = cuModuleLoadData(&kernel->module, {name}_cubin.bytes);
    if (result != CUDA_SUCCESS)
        return result;
    result = cuModuleGetFunction(&kernel->function, kernel->module, "{kernel.entry}");
{opts}    if (result != CUDA_SUCCESS)
        cuModuleUnload(kernel->module);
    return result;
}}

static inline CUresult {name}_unload({name}_module *kernel) {{
    return cuModuleUnload(kernel->module);
}}

"""


def _function_attributes(kernel: Kernel) -> Iterator[tuple[str, int]]:
    if kernel.opts_in_to_shared:
        yield "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES", kernel.shared_bytes
    if kernel.is_large_cluster:
        yield "CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED", 1


def _launch(kernel: Kernel) -> str:
    name = kernel.name
    parameters = "".join(f",\n    {_parameter(argument)}" for argument in kernel.given)
    scratch = [name for name, memory in kernel.scratch.items() if memory.size_bytes]
    pointers = ", ".join(_pointer(argument) for argument in kernel.arguments)
    return f"""\
static inline CUresult {name}_launch(
    const {name}_module *kernel, CUstream stream, unsigned int grid_x, unsigned int grid_y,
    unsigned int grid_z{parameters}) {{
    CUdeviceptr global_scratch = 0, profile_scratch = 0;
    void *pointers[] = {{{pointers}}};
    CUlaunchAttribute attributes[4];
    CUlaunchConfig config;
    CUresult result = CUDA_SUCCESS;
    if (grid_x == 0 || grid_y == 0 || grid_z == 0)
        return result;
    memset(attributes, 0, sizeof attributes);
    memset(&config, 0, sizeof config);
    config.gridDimX = grid_x * {kernel.cluster};
    config.gridDimY = grid_y;
    config.gridDimZ = grid_z;
    config.blockDimX = {kernel.threads};
    config.blockDimY = 1;
    config.blockDimZ = 1;
    config.sharedMemBytes = {kernel.shared_bytes};
    config.hStream = stream;
    config.attrs = attributes;
{"".join(_attribute(i, *item) for i, item in enumerate(_launch_attributes(kernel)))}\
{"".join(_allocation(name, kernel) for name in scratch)}\
    if (result == CUDA_SUCCESS)
        result = cuLaunchKernelEx(&config, kernel->function, pointers, NULL);
{"".join(_release(name) for name in scratch)}\
    return result;
}}
"""


def _parameter(argument: Argument) -> str:
    if argument.kind == "pointer":
        return f"CUdeviceptr {argument.identifier}"
    if argument.kind == "tensormap":
        return f"const CUtensorMap *{argument.identifier}"
    return f"{spelling(argument.type).c} {argument.identifier}"


def _pointer(argument: Argument) -> str:
    if argument.kind == "tensormap":
        return f"(void *){argument.identifier}"
    if argument.kind in {"global_scratch", "profile_scratch"}:
        return f"&{argument.kind}"
    return f"&{argument.identifier}"


def _launch_attributes(kernel: Kernel) -> Iterator[tuple[str, str]]:
    if kernel.is_pdl:
        yield "PROGRAMMATIC_STREAM_SERIALIZATION", "programmaticStreamSerializationAllowed = 1"
    if kernel.is_cooperative:
        yield "COOPERATIVE", "cooperative = 1"
    if kernel.cluster != 1:
        yield "CLUSTER_DIMENSION", f"clusterDim.x = {kernel.cluster}"
        yield (
            "CLUSTER_SCHEDULING_POLICY_PREFERENCE",
            "clusterSchedulingPolicyPreference = CU_CLUSTER_SCHEDULING_POLICY_SPREAD",
        )


def _attribute(index: int, name: str, value: str) -> str:
    more = ""
    if name == "CLUSTER_DIMENSION":
        more = "".join(f"    attributes[{index}].value.clusterDim.{axis} = 1;\n" for axis in "yz")
    return (
        f"    attributes[{index}].id = CU_LAUNCH_ATTRIBUTE_{name};\n"
        f"    attributes[{index}].value.{value};\n{more}"
        f"    config.numAttrs = {index + 1};\n"
    )


def _allocation(name: str, kernel: Kernel) -> str:
    size_bytes = kernel.scratch[name].size_bytes * kernel.cluster
    return (
        f"    if (result == CUDA_SUCCESS)\n"
        f"        result = cuMemAllocAsync(\n"
        f"            &{name}, (size_t)grid_x * grid_y * grid_z * {size_bytes}, stream);\n"
    )


def _release(name: str) -> str:
    return f"    if ({name} != 0)\n        cuMemFreeAsync({name}, stream);\n"
