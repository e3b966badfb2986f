"""The export `rust`: one module with the cubin and a launcher, on nothing but libcuda."""

from collections.abc import Iterator

from compiler.export.exported_kernel import Argument, ExportedKernel
from compiler.export.header_comment import about
from compiler.export.spelling import camel, spelling

_BYTES_A_LINE = 24
_DECLARATIONS = """\
pub type CUresult = c_int;
pub type CUdeviceptr = u64;
pub type CUmodule = *mut c_void;
pub type CUfunction = *mut c_void;
pub type CUstream = *mut c_void;

/// A tensor map, made by `cuTensorMapEncodeTiled`.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub struct CUtensorMap(pub [u64; 16]);

#[repr(C)]
#[derive(Clone, Copy)]
struct LaunchAttribute {
    id: c_uint,
    value: [u64; 8],
}

#[repr(C)]
struct LaunchConfig {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared_bytes: c_uint,
    stream: CUstream,
    attributes: *const LaunchAttribute,
    attribute_count: c_uint,
}

#[link(name = "cuda")]
unsafe extern "C" {
    fn cuModuleLoadData(module: *mut CUmodule, image: *const c_void) -> CUresult;
    fn cuModuleUnload(module: CUmodule) -> CUresult;
    fn cuModuleGetFunction(
        function: *mut CUfunction,
        module: CUmodule,
        name: *const c_char,
    ) -> CUresult;
    fn cuFuncSetAttribute(function: CUfunction, attribute: c_int, value: c_int) -> CUresult;
    fn cuLaunchKernelEx(
        config: *const LaunchConfig,
        function: CUfunction,
        parameters: *const *const c_void,
        extra: *const *const c_void,
    ) -> CUresult;
    fn cuMemAllocAsync(address: *mut CUdeviceptr, bytes: usize, stream: CUstream) -> CUresult;
    fn cuMemFreeAsync(address: CUdeviceptr, stream: CUstream) -> CUresult;
}

fn check(result: CUresult) -> Result<(), CUresult> {
    if result == 0 { Ok(()) } else { Err(result) }
}
"""


def rust_module(kernel: ExportedKernel, cubin: bytes) -> str:
    """Return the module; it needs rustc 1.82 or later and no crate."""
    comment = "".join(f"//! {line}".rstrip() + "\n" for line in about(kernel))
    return "".join(
        (
            comment,
            "//!\n//! Errors are the driver's `CUresult`. A CUDA context must be current.\n",
            "#![allow(dead_code, non_snake_case, clippy::all)]\n\n",
            "use std::os::raw::{c_char, c_int, c_uint, c_void};\n\n",
            _DECLARATIONS,
            "\n",
            _image(cubin),
            "\n",
            _type(kernel),
        )
    )


def _image(cubin: bytes) -> str:
    rows = (cubin[at : at + _BYTES_A_LINE] for at in range(0, len(cubin), _BYTES_A_LINE))
    text = "".join("    " + "".join(f"{byte}," for byte in row) + "\n" for row in rows)
    return (
        "#[repr(C, align(16))]\nstruct Image([u8; CUBIN_BYTES]);\n\n"
        f"const CUBIN_BYTES: usize = {len(cubin)};\n"
        f"static CUBIN: Image = Image([\n{text}]);\n"
    )


def _type(kernel: ExportedKernel) -> str:
    opts = "".join(
        f"            check(cuFuncSetAttribute(loaded.function, {attribute}, {value}))?;\n"
        for attribute, value in _function_attributes(kernel)
    )
    name = camel(kernel.name)
    return f"""\
/// The loaded kernel; its code leaves the GPU when this is dropped.
pub struct {name} {{
    module: CUmodule,
    function: CUfunction,
}}

impl {name} {{
    /// Threads of a block.
    pub const THREADS: u32 = {kernel.threads};

    /// Loads the kernel into the current context.
    ///
    /// # Safety
    /// A CUDA context must be current, also when the value is dropped.
    pub unsafe fn load() -> Result<Self, CUresult> {{
        let mut loaded = Self {{
            module: std::ptr::null_mut(),
            function: std::ptr::null_mut(),
        }};
        let entry = b"{kernel.entry}\\0";
        unsafe {{
            check(cuModuleLoadData(&mut loaded.module, CUBIN.0.as_ptr().cast()))?;
            check(cuModuleGetFunction(&mut loaded.function, loaded.module, entry.as_ptr().cast()))?;
{opts}        }}
        Ok(loaded)
    }}

{_launch(kernel)}}}

impl Drop for {name} {{
    fn drop(&mut self) {{
        if !self.module.is_null() {{
            unsafe {{ cuModuleUnload(self.module) }};
        }}
    }}
}}
"""


def _function_attributes(kernel: ExportedKernel) -> Iterator[tuple[int, int]]:
    if kernel.opts_in_to_shared:
        yield 8, kernel.shared_bytes  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    if kernel.is_large_cluster:
        yield 14, 1  # CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED


def _launch(kernel: ExportedKernel) -> str:
    parameters = "".join(
        f"        {_parameter(argument)},\n" for argument in kernel.caller_arguments
    )
    pointers = "".join(f"            {_pointer(argument)},\n" for argument in kernel.arguments)
    attributes = "".join(
        f"            LaunchAttribute {{ id: {number}, value: {value} }},\n"
        for number, value in _launch_attributes(kernel)
    )
    scratch = [name for name, memory in kernel.scratch.items() if memory.size_bytes]
    return f"""\
    /// Queues the kernel; `grid` is that of the Triton program.
    ///
    /// # Safety
    /// Every address must be valid for what the kernel does with it.
    #[allow(clippy::too_many_arguments, unused_mut)]
    pub unsafe fn launch(
        &self,
        stream: CUstream,
        grid: [u32; 3],
{parameters}    ) -> Result<(), CUresult> {{
        if grid.contains(&0) {{
            return Ok(());
        }}
        let (mut global_scratch, mut profile_scratch): (CUdeviceptr, CUdeviceptr) = (0, 0);
        let attributes: [LaunchAttribute; {len(list(_launch_attributes(kernel)))}] = [
{attributes}        ];
{"".join(_allocation(name, kernel) for name in scratch)}\
        let pointers: [*const c_void; {len(kernel.arguments)}] = [
{pointers}        ];
        let config = LaunchConfig {{
            grid: [grid[0] * {kernel.cluster}, grid[1], grid[2]],
            block: [Self::THREADS, 1, 1],
            shared_bytes: {kernel.shared_bytes},
            stream,
            attributes: attributes.as_ptr(),
            attribute_count: attributes.len() as c_uint,
        }};
        let result = unsafe {{
            cuLaunchKernelEx(&config, self.function, pointers.as_ptr(), std::ptr::null())
        }};
{"".join(_release(name) for name in scratch)}        check(result)
    }}
"""


def _parameter(argument: Argument) -> str:
    if argument.kind == "pointer":
        return f"{argument.identifier}: CUdeviceptr"
    if argument.kind == "tensormap":
        return f"{argument.identifier}: &CUtensorMap"
    return f"{argument.identifier}: {spelling(argument.type).rust}"


def _pointer(argument: Argument) -> str:
    if argument.kind == "tensormap":
        return f"({argument.identifier} as *const CUtensorMap).cast()"
    name = argument.kind if argument.kind.endswith("_scratch") else argument.identifier
    return f"(&raw const {name}).cast()"


def _launch_attributes(kernel: ExportedKernel) -> Iterator[tuple[int, str]]:
    """Yield the numbers of cuda.h's CUlaunchAttributeID and the words of their values."""
    single = "[1, 0, 0, 0, 0, 0, 0, 0]"
    if kernel.is_pdl:
        yield 6, single
    if kernel.is_cooperative:
        yield 2, single
    if kernel.cluster != 1:
        yield 4, f"[{kernel.cluster} | (1 << 32), 1, 0, 0, 0, 0, 0, 0]"
        yield 5, single


def _allocation(name: str, kernel: ExportedKernel) -> str:
    size_bytes = kernel.scratch[name].size_bytes * kernel.cluster
    return (
        "        let blocks = grid.iter().map(|&extent| extent as usize).product::<usize>();\n"
        f"        let bytes = blocks * {size_bytes};\n"
        f"        check(unsafe {{ cuMemAllocAsync(&mut {name}, bytes, stream) }})?;\n"
    )


def _release(name: str) -> str:
    return f"        unsafe {{ cuMemFreeAsync({name}, stream) }};\n"
