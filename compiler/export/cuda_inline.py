"""The export `cuda-inline`: a header whose device function holds the kernel's PTX as inline asm."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from compiler.export.exported_kernel import SCRATCH, Argument, ExportedKernel, NotExportable
from compiler.export.header_comment import about
from compiler.export.ptx import PtxEntry, PtxTable, read_entry
from compiler.export.spelling import spelling

MAX_OPERANDS = 30
"""Limits of compilers; nvcc follows GCC here."""
_BYTES_A_LINE = 16
_CONSTRAINTS = {1: "h", 2: "h", 4: "r", 8: "l"}
_SPECIFIC = re.compile(r"\b(?:wgmma|setmaxnreg|tcgen05)\b")
"""Instructions that are there on one architecture only (PTX's targets with an `a`)."""
_FLOATS = {"fp32": "f", "fp64": "d"}
_PREFIX = "%t_"
"""Of registers: the compiler's own are %r1, %rd1, %p1 and would be hidden by ours."""
_END = "L_end"

_REGISTERS = re.compile(r"\s*\.reg \.(?P<type>\w+)\s+(?P<names>%.*);")
_NAME = re.compile(r"(%\w+?)(<\d+>)?$")
_LABEL = re.compile(r"\$(L_*[A-Za-z_]\w*)")
_LOAD = re.compile(
    r"(?P<lead>\s*)(?P<guard>@\S+\s+)?ld\.param\.(?P<type>[busf]\d+)\s+(?P<to>%\w+), "
    r"\[(?P<name>[\w$]+)\];"
)
_ADDRESS = re.compile(r"\s*mov\.[bu](?:32|64)\s+(?P<to>%\w+), (?P<name>[\w$]+);")
_WIDEN = re.compile(r"\s*cvt\.u64\.u32\s+(?P<to>%\w+), (?P<source>%\w+);")
_GENERIC = re.compile(r"(?P<lead>\s*)cvta\.param\.u64\s+(?P<to>%\w+), (?P<source>%\w+);")
_RETURN = re.compile(r"(?P<lead>\s*(?:@\S+\s+)?)ret;")
_CALL = re.compile(r"\s*(?:@\S+\s+)?call\b(?:.*?([A-Za-z_$][\w$]*), \()?")
_LOCAL_SHARED = re.compile(r"\s*\.shared\b")
_PRINTING = frozenset({"vprintf", "__assertfail"})


@dataclass(frozen=True)
class Operand:
    """One input of the statement: its name in the PTX, and its bytes.

    `kind` is `parameter` (by index), `map` (the address of a tensor map), `shared` or `table`.
    """

    kind: str
    name: str
    size_bytes: int


@dataclass
class _Statement:
    """The rewritten body and the operands in the order of their numbers."""

    lines: list[str] = field(default_factory=list)
    operands: list[Operand] = field(default_factory=list)

    def number(self, operand: Operand) -> str:
        """Return how the text refers to `operand`."""
        if operand not in self.operands:
            self.operands.append(operand)
        return f"%{self.operands.index(operand)}"


def cuda_inline_header(kernel: ExportedKernel, ptx: str) -> str:
    """Return the header, for nvcc or clang. Raises NotExportable."""
    entry = read_entry(ptx, kernel.entry)
    by_name = _by_name(kernel, entry)
    sizes = {name: argument.size_bytes for name, argument in by_name.items()}
    statement = rewrite(entry, sizes)
    if len(statement.operands) > MAX_OPERANDS:
        message = (
            f"The kernel reads {len(statement.operands)} parameters; inline assembly takes "
            f"{MAX_OPERANDS}. Export it as `c`."
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
        f"The PTX had: {' '.join(entry.directives)}",
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
    kernel: ExportedKernel, entry: PtxEntry, statement: _Statement, by_name: dict[str, Argument]
) -> str:
    parameters = [
        *(_parameter(argument) for argument in kernel.caller_arguments),
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
        "{_END}:\\n"
        "}}\\n"
        :
        : {operands}
        : "memory");
{last}}}
"""


def _only_where_it_runs(kernel: ExportedKernel, entry: PtxEntry) -> tuple[str, str]:
    """Return the text around the statement of a kernel that other architectures cannot hold.

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


# Rewrites the body of a PTX kernel into the text of one inline assembly statement.
#
# In it registers have names that no compiler gives, labels live in a separate block,
# parameters and the address of shared memory are operands, and `ret` leaves the statement, not the
# caller. The rules are those of NVIDIA's "Inline PTX Assembly in CUDA".


def rewrite(entry: PtxEntry, sizes: Mapping[str, int]) -> _Statement:
    """Return `entry` as one statement; `sizes` are bytes of its parameters by name.

    Raises NotExportable when the kernel calls functions or uses memory that a statement cannot
    declare.
    """
    statement = _Statement()
    declared = dict(_declared(entry.body))
    rewriter = _Rewriter(entry, sizes, _pattern(declared), _widths(declared), statement)
    for line in entry.body:
        statement.lines += rewriter.line(line)
    return statement


@dataclass
class _Rewriter:
    entry: PtxEntry
    sizes: Mapping[str, int]
    registers: re.Pattern[str]
    widths: Mapping[str, int]
    """Bits of registers, by their names without the numbers behind them."""
    statement: _Statement
    parameter_at: dict[str, str] = field(default_factory=dict)
    """Registers that hold the address of a parameter: operands have no separate ones."""

    def line(self, line: str) -> Iterator[str]:
        """Yield the replacements of one line, ready for a C string."""
        if call := _CALL.match(line):
            raise NotExportable(_why_no_call(call[1]))
        if _LOCAL_SHARED.match(line):
            message = "The kernel declares static shared memory, which cannot be exported inline."
            raise NotExportable(message)
        for text in self._rewritten(line):
            yield _LABEL.sub(r"\1", text)

    def _rewritten(self, line: str) -> Iterator[str]:
        if match := _LOAD.match(line):
            yield self._load(match)
        elif (match := _ADDRESS.match(line)) and match["name"] in self.sizes:
            self.parameter_at[match["to"]] = match["name"]
        elif (match := _WIDEN.match(line)) and match["source"] in self.parameter_at:
            self.parameter_at[match["to"]] = self.parameter_at[match["source"]]
        elif (match := _GENERIC.match(line)) and match["source"] in self.parameter_at:
            name = self.parameter_at[match["source"]]
            number = self.statement.number(Operand("map", name, 8))
            yield f"{match['lead']}mov.b64 {self._renamed(match['to'])}, {number};"
        elif match := _RETURN.match(line):
            yield f"{self._renamed(match['lead'])}bra {_END};"
        else:
            yield self._plain(line)

    def _load(self, match: re.Match[str]) -> str:
        size = self.sizes[match["name"]]
        number = self.statement.number(Operand("parameter", match["name"], size))
        lead = match["lead"] + self._renamed(match["guard"] or "")
        to = self._renamed(match["to"])
        bits = int(match["type"][1:])
        of_register = self.widths.get(match["to"].rstrip("0123456789"), bits)
        if bits < of_register:
            sign = "s" if match["type"][0] == "s" else "u"
            return f"{lead}cvt.{sign}{of_register}.{sign}{bits} {to}, {number};"
        return f"{lead}mov.b{bits} {to}, {number};"

    def _plain(self, line: str) -> str:
        if any(name in line for name in self.sizes) or self._uses_address(line):
            message = f"The kernel uses a parameter as memory, not as a value: {line.strip()}"
            raise NotExportable(message)
        line = self._renamed(line)
        line = self._with_shared(line)
        for table in self.entry.tables:
            if re.search(rf"(?<![\w$]){re.escape(table.name)}(?![\w$])", line):
                number = self.statement.number(Operand("table", table.name, 8))
                line = line.replace(table.name, number)
        return line

    def _uses_address(self, line: str) -> bool:
        return any(name in self.parameter_at for name in re.findall(r"%\w+", line))

    def _with_shared(self, line: str) -> str:
        name = self.entry.shared_name
        if name is None or name not in line:
            return line
        number = self.statement.number(Operand("shared", name, 4))
        offset = re.match(rf"(\s*)mov\.[bu]32\s+(%\w+|%%\w+), {re.escape(name)}\+(\d+);", line)
        if offset is not None:
            return f"{offset[1]}add.s32 {offset[2]}, {number}, {offset[3]};"
        wide = re.match(rf"(\s*)mov\.[bu]64\s+(\S+), {re.escape(name)};", line)
        if wide is not None:
            return f"{wide[1]}cvt.u64.u32 {wide[2]}, {number};"
        return line.replace(name, number)

    def _renamed(self, text: str) -> str:
        """Return `text` with our registers renamed and every percent sign of PTX doubled."""
        text = self.registers.sub(lambda match: _PREFIX + match[0][1:], text)
        return text.replace("%", "%%")


def _why_no_call(name: str | None) -> str:
    if name in _PRINTING:
        what = "The kernel prints or asserts (tl.device_print, tl.device_assert)"
    elif name:
        what = f"The kernel calls the function {name} (of a device library, or a noinline helper)"
    else:
        what = "The kernel calls a function"
    return f"{what}, which inline assembly cannot hold. Export it as `c`, or compile without it."


def _declared(body: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield the registers that the kernel declares, as it writes them (`%r<9>`), and their type."""
    for line in body:
        if declared := _REGISTERS.match(line):
            for word in declared["names"].split(","):
                yield word.strip(), declared["type"]


def _pattern(declared: Mapping[str, str]) -> re.Pattern[str]:
    """Return a pattern for the registers in `declared`, and for no special register."""
    names = filter(None, map(_NAME.match, declared))
    patterns = [re.escape(name[1]) + (r"(?:\d+|(?=<))" if name[2] else "") for name in names]
    return re.compile(rf"(?:{'|'.join(patterns) or '(?!)'})(?!\w)")


def _widths(declared: Mapping[str, str]) -> dict[str, int]:
    """Return the bits of registers by the part of their names before the number."""
    names = ((_NAME.match(word), kind) for word, kind in declared.items() if kind[1:].isdigit())
    return {name[1].rstrip("0123456789"): int(kind[1:]) for name, kind in names if name}
