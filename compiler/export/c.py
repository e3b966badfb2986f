"""The export `c`: one header with the cubin and a launcher on the CUDA driver API.

What of that API it needs is declared in it, for machines without cuda.h; names, numbers and layouts
are those of NVIDIA's public driver API documentation.
"""

from collections.abc import Iterator

from compiler.export.exported_kernel import Argument, ExportedKernel
from compiler.export.header_comment import about
from compiler.export.spelling import spelling

DECLARATIONS = """\
/* cuda.h where there is one; else the few declarations of it that are used here. */
#if !defined(TRITOND_NO_CUDA_H) && defined(__has_include)
#if __has_include(<cuda.h>)
#include <cuda.h>
#endif
#endif
#if !defined(CUDA_VERSION) && !defined(TRITOND_CUDA_DECLARED)
#define TRITOND_CUDA_DECLARED
typedef int CUresult;
typedef unsigned long long CUdeviceptr;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUtensorMap_st {
#if defined(__GNUC__)
    unsigned long long opaque[16] __attribute__((aligned(64)));
#else
    unsigned long long opaque[16];
#endif
} CUtensorMap;
typedef int CUfunction_attribute;
typedef int CUlaunchAttributeID;
typedef union CUlaunchAttributeValue_union {
    char pad[64];
    unsigned long long aligned;
    int cooperative;
    struct {
        unsigned int x, y, z;
    } clusterDim;
    int clusterSchedulingPolicyPreference;
    int programmaticStreamSerializationAllowed;
} CUlaunchAttributeValue;
typedef struct CUlaunchAttribute_st {
    CUlaunchAttributeID id;
    char pad[4];
    CUlaunchAttributeValue value;
} CUlaunchAttribute;
typedef struct CUlaunchConfig_st {
    unsigned int gridDimX, gridDimY, gridDimZ;
    unsigned int blockDimX, blockDimY, blockDimZ;
    unsigned int sharedMemBytes;
    CUstream hStream;
    CUlaunchAttribute *attrs;
    unsigned int numAttrs;
} CUlaunchConfig;
#define CUDA_SUCCESS 0
#define CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES 8
#define CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED 14
#define CU_LAUNCH_ATTRIBUTE_COOPERATIVE 2
#define CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION 4
#define CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE 5
#define CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION 6
#define CU_CLUSTER_SCHEDULING_POLICY_SPREAD 1
#ifdef __cplusplus
extern "C" {
#endif
CUresult cuModuleLoadData(CUmodule *module, const void *image);
CUresult cuModuleUnload(CUmodule module);
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name);
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value);
CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters,
                          void **extra);
CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream);
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream);
#ifdef __cplusplus
}
#endif
#endif
"""


_BYTES_A_LINE = 16


def c_header(kernel: ExportedKernel, cubin: bytes) -> str:
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


def _comment(kernel: ExportedKernel) -> str:
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


def _image(kernel: ExportedKernel, cubin: bytes) -> str:
    rows = (cubin[at : at + _BYTES_A_LINE] for at in range(0, len(cubin), _BYTES_A_LINE))
    text = "".join("    " + " ".join(f"0x{byte:02x}," for byte in row) + "\n" for row in rows)
    return (
        "/* The cubin; the union aligns it. */\n"
        f"static const union {{\n    unsigned char bytes[{len(cubin)}];\n"
        f"    unsigned long long aligned;\n}} {kernel.name}_cubin = {{{{\n{text}}}}};\n\n"
    )


def _module(kernel: ExportedKernel) -> str:
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


def _function_attributes(kernel: ExportedKernel) -> Iterator[tuple[str, int]]:
    if kernel.opts_in_to_shared:
        yield "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES", kernel.shared_bytes
    if kernel.is_large_cluster:
        yield "CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED", 1


def _launch(kernel: ExportedKernel) -> str:
    name = kernel.name
    parameters = "".join(f",\n    {_parameter(argument)}" for argument in kernel.caller_arguments)
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


def _launch_attributes(kernel: ExportedKernel) -> Iterator[tuple[str, str]]:
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


def _allocation(name: str, kernel: ExportedKernel) -> str:
    size_bytes = kernel.scratch[name].size_bytes * kernel.cluster
    return (
        f"    if (result == CUDA_SUCCESS)\n"
        f"        result = cuMemAllocAsync(\n"
        f"            &{name}, (size_t)grid_x * grid_y * grid_z * {size_bytes}, stream);\n"
    )


def _release(name: str) -> str:
    return f"    if ({name} != 0)\n        cuMemFreeAsync({name}, stream);\n"
