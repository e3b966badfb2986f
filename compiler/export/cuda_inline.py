"""The export `cuda-inline`: a header whose device function holds the kernel's PTX as inline asm."""

import re
from collections.abc import Iterator

from compiler.export.exported_kernel import SCRATCH, Argument, ExportedKernel, NotExportable
from compiler.export.header_comment import about
from compiler.export.inline_asm import END, Operand, Statement, rewrite
from compiler.export.ptx import PtxEntry, PtxTable, read_entry
from compiler.export.spelling import spelling

MOST_OPERANDS = 30
"""Limits of compilers; nvcc follows GCC here."""
_BYTES_A_LINE = 16
_CONSTRAINTS = {1: "h", 2: "h", 4: "r", 8: "l"}
_SPECIFIC = re.compile(r"\b(?:wgmma|setmaxnreg|tcgen05)\b")
"""Instructions that are there on one architecture only (PTX's targets with an `a`)."""
_FLOATS = {"fp32": "f", "fp64": "d"}


def cuda_inline_header(kernel: ExportedKernel, ptx: str) -> str:
    """Return the header, for nvcc or clang. Raises NotExportable."""
    entry = read_entry(ptx, kernel.entry)
    by_name = _by_name(kernel, entry)
    sizes = {name: argument.size_bytes for name, argument in by_name.items()}
    statement = rewrite(entry, sizes)
    if len(statement.operands) > MOST_OPERANDS:
        message = (
            f"The kernel reads {len(statement.operands)} parameters; inline assembly takes "
            f"{MOST_OPERANDS}. Export it as `c`."
        )
        raise NotExportable(message)
    guard = f"TRITOND_{kernel.name.upper()}_{kernel.facts['key'][:16].upper()}_CUH"
    return "".join(
        (
            _comment(kernel, entry),
            f"#ifndef {guard}\n#define {guard}\n\n#include <stdint.h>\n#include <stdio.h>\n\n",
            _constants(kernel, entry),
            "".join(_table(table, kernel) for table in entry.tables),
            _function(kernel, entry, statement, by_name),
            f"\n#endif /* {guard} */\n",
        )
    )


def _by_name(kernel: ExportedKernel, entry: PtxEntry) -> dict[str, Argument]:
    names, arguments = entry.parameter_names, kernel.arguments
    if len(names) != len(arguments):
        message = f"The PTX has {len(names)} parameters, the record {len(arguments)}."
        raise NotExportable(message)
    return dict(zip(names, arguments, strict=True))


def _comment(kernel: ExportedKernel, entry: PtxEntry) -> str:
    programs = " divided by the cluster." if kernel.cluster != 1 else "."
    lines = [
        *about(kernel),
        "",
        "Call it from a __global__ function that is launched like the Triton kernel:",
        f"  blocks of {kernel.threads} threads in x (__launch_bounds__({kernel.threads})),",
        *_cluster(kernel),
        f"  compiled for {entry.target} with a toolkit that knows PTX {entry.version},",
        *_shared(kernel, entry),
        "All threads of the block must call it, together, and with the same arguments.",
        f"program_id(axis) is blockIdx; num_programs(axis) is gridDim{programs}",
        *_maps(kernel),
        f"The PTX said: {' '.join(entry.directives)}",
    ]
    return "/*\n" + "".join(f" * {line}".rstrip() + "\n" for line in lines) + " */\n"


def _cluster(kernel: ExportedKernel) -> Iterator[str]:
    if kernel.cluster != 1:
        yield f"  clusters of {kernel.cluster} blocks in x (__cluster_dims__({kernel.cluster})),"


def _shared(kernel: ExportedKernel, entry: PtxEntry) -> Iterator[str]:
    if entry.shared_name is not None:
        yield f"  with {kernel.shared_bytes} bytes of dynamic shared memory for `shared`, aligned"
        yield f"  to {max(entry.shared_align, 128)} bytes (an extern __shared__ array is enough)."


def _maps(kernel: ExportedKernel) -> Iterator[str]:
    if any(argument.kind == "tensormap" for argument in kernel.arguments):
        yield "A tensor map is given by its address in parameter, constant or global memory"
        yield "(a `const __grid_constant__ CUtensorMap` parameter of the __global__ function)."


def _constants(kernel: ExportedKernel, entry: PtxEntry) -> str:
    name = kernel.name.upper()
    arch = "".join(c for c in entry.target if c.isdigit())
    return (
        f"#define {name}_THREADS {kernel.threads}\n"
        f"#define {name}_SHARED_BYTES {kernel.shared_bytes}\n\n"
        f"#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < {arch}0\n"
        f'#error "{kernel.entry} needs -arch={entry.target}"\n#endif\n\n'
    )


def _table(table: PtxTable, kernel: ExportedKernel) -> str:
    rows = (table.data[at : at + _BYTES_A_LINE] for at in range(0, len(table.data), _BYTES_A_LINE))
    text = "".join("    " + "".join(f"{byte}, " for byte in row).rstrip() + "\n" for row in rows)
    return (
        f"static __device__ const __align__({table.align}) unsigned char "
        f"{_table_name(kernel, table.name)}[{len(table.data)}] = {{\n{text}}};\n\n"
    )


def _table_name(kernel: ExportedKernel, name: str) -> str:
    return f"{kernel.name}_{name.replace('$', '_').strip('_')}"


def _function(
    kernel: ExportedKernel, entry: PtxEntry, statement: Statement, by_name: dict[str, Argument]
) -> str:
    parameters = [
        *(_parameter(argument) for argument in kernel.given),
        *(f"void *{name}" for name in SCRATCH if kernel.scratch[name].size_bytes),
        *(["void *shared"] if entry.shared_name is not None else []),
    ]
    asm = "".join(f'        "{_quoted(line)}\\n"\n' for line in statement.lines)
    operands = ",\n          ".join(
        _operand(operand, kernel, by_name) for operand in statement.operands
    )
    joined = ",\n    ".join(parameters)
    first, last = _only_where_it_runs(kernel, entry)
    return f"""\
static __device__ __forceinline__ void {kernel.name}(
    {joined}) {{
{first}    asm volatile(
        "{{\\n"
{asm}\
        "{END}:\\n"
        "}}\\n"
        :
        : {operands}
        : "memory");
{last}}}
"""


def _only_where_it_runs(kernel: ExportedKernel, entry: PtxEntry) -> tuple[str, str]:
    """Return what stands around the statement of a kernel that other architectures cannot hold.

    nvcc compiles a file for more than the one asked for, so it must not be an error there.
    """
    if not any(_SPECIFIC.search(line) for line in entry.body):
        return "", ""
    arch = "".join(c for c in entry.target if c.isdigit())
    return (
        f"#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM{arch}_ALL)\n",
        f'#else\n    printf("{kernel.entry} needs -arch={entry.target}\\n");\n'
        "    __trap();\n#endif\n",
    )


def _quoted(line: str) -> str:
    r"""Return `line` inside of a C string; `\?`, as two in a row may begin a trigraph."""
    text = line.expandtabs(4).strip().replace("\\", "\\\\").replace('"', '\\"')
    return text.replace("?", "\\?")


def _parameter(argument: Argument) -> str:
    if argument.kind in {"pointer", "tensormap"}:
        constant = "const " if argument.kind == "tensormap" or argument.type[1:2] == "k" else ""
        return f"{constant}void *{argument.identifier}"
    return f"{spelling(argument.type).c} {argument.identifier}"


def _operand(operand: Operand, kernel: ExportedKernel, by_name: dict[str, Argument]) -> str:
    if operand.kind == "shared":
        return '"r"((unsigned int)__cvta_generic_to_shared(shared))'
    if operand.kind == "table":
        table = _table_name(kernel, operand.name)
        return f'"l"(__cvta_generic_to_global({table}))'
    argument = by_name[operand.name]
    if argument.kind in SCRATCH:
        used = kernel.scratch[argument.kind].size_bytes
        return f'"l"({argument.kind})' if used else '"l"((void *)0)'
    if argument.kind in {"pointer", "tensormap"}:
        return f'"l"({argument.identifier})'
    constraint = _FLOATS.get(argument.type, _CONSTRAINTS[operand.size_bytes])
    if operand.size_bytes == 1:
        return f'"h"((unsigned short){argument.identifier})'
    return f'"{constraint}"({argument.identifier})'
