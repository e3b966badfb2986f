"""Finds the source of each value of a function, and the regions around each operation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

from compiler.proof.proof_limits import MAX_OPERATIONS, ProofLimitReached, Unsupported
from compiler.proof.terms import Path, line_of
from compiler.ttir_to_numpy.blocks import passed
from compiler.ttir_to_numpy.ir import IrBlock, Operation, Value, inside

_BRANCHES = ("cf.br", "cf.cond_br")
"""`cf.cond_br %condition, ^bb1(%a : i32), ^bb2`"""
_PURE_DIALECTS = frozenset({"arith", "math", "ub"})
"""Dialects whose operations depend on their operands alone, and have no regions."""
_CONTROL = frozenset(
    {
        "cf.assert", "cf.br", "cf.cond_br", "scf.condition", "scf.for", "scf.if", "scf.while",
        "scf.yield",
    }
)  # fmt: skip
_EFFECTS = frozenset({"gpu.barrier", "llvm.intr.assume", "ttg.barrier"})
"""Operations of other dialects that access no memory."""
_TRITON = frozenset(
    {
        "addptr", "approx_divf", "assert", "atomic_cas", "atomic_load", "atomic_poll", "atomic_rmw",
        "atomic_store", "bitcast", "broadcast", "cat", "clampf", "descriptor_gather",
        "descriptor_load", "descriptor_reduce", "descriptor_scatter", "descriptor_store", "dot",
        "dot_scaled", "elementwise_inline_asm", "expand_dims", "extern_elementwise", "fp_to_fp",
        "gather", "get_num_programs", "get_program_id", "grid_dependency_launch_dependents",
        "grid_dependency_wait", "histogram", "int_to_ptr", "join", "load", "make_range",
        "make_tensor_descriptor", "map_elementwise", "map_elementwise.return", "mulhiui",
        "precise_divf", "precise_sqrt", "print", "ptr_to_int", "reduce", "reduce.return", "reshape",
        "return", "scan", "scan.return", "splat", "split", "store", "trans", "unsplat",
    }
)  # fmt: skip
"""The operations of Triton's dialect that access no memory, or whose accesses are read."""
_FOREIGN = ("tt.elementwise_inline_asm", "tt.extern_elementwise")
"""`tt.elementwise_inline_asm "abs.s32 $0, $1;" {pure = true, ...} %i : tensor<64xi32> -> ...`"""


@dataclass(frozen=True)
class Owner:
    """The region or function whose argument a block's argument is."""

    kind: Literal["function", "for", "while before", "while after", "block", "values"]
    operation: Operation
    number: int = 0
    label: str = ""


@dataclass(frozen=True)
class Edge:
    """One way into a block: from `label`, by successor `number` of its terminator."""

    label: str
    terminator: Operation
    number: int
    arguments: Sequence[Value]


@dataclass
class Structure:
    """The structure of one function of a module."""

    function: Operation
    owners: dict[Value, Owner] = field(default_factory=dict)
    paths: dict[Operation, Path] = field(default_factory=dict)
    edges: dict[str, list[Edge]] = field(default_factory=dict)
    """The ways into each block of the function but the first."""

    @property
    def parameters(self) -> list[Value]:
        """The function's arguments."""
        return self.function.regions[0][0].arguments

    def loops_around(self, operation: Operation) -> frozenset[Operation]:
        """Return the loops that an operation is in."""
        return frozenset(
            around for kind, around, _ in self.paths[operation] if kind in ("for", "while")
        )


def structure_of(module: Operation) -> Structure:
    """Return the structure of the module's kernel. Raises Unsupported, ProofLimitReached."""
    function = _kernel_of(module)
    for count, operation in enumerate(inside(function)):
        if count >= MAX_OPERATIONS:
            raise ProofLimitReached(f"the kernel has more than {MAX_OPERATIONS:,} operations")
        _refuse_unmodelled(operation)
    structure = Structure(function)
    for argument in structure.parameters:
        structure.owners[argument] = Owner("function", function)
    blocks = function.regions[0]
    for block in blocks:
        _note_edges(structure, block)
    _refuse_loops(structure, blocks)
    for block in blocks:
        path: Path = () if len(blocks) == 1 else (("block", function, block.label),)
        _read_block(structure, block, path)
        for number, argument in enumerate(block.arguments):
            structure.owners.setdefault(argument, Owner("block", function, number, block.label))
    return structure


def _refuse_unmodelled(operation: Operation) -> None:
    if operation.name == "tt.call":
        raise Unsupported("tt.call: the function is not inlined", line_of(operation))
    if operation.name in _FOREIGN and operation.attributes.get("pure") != "true":
        what = f"{operation.name} that may access memory: it is not marked pure"
        raise Unsupported(what, line_of(operation))
    if operation.successors and operation.name not in _BRANCHES:
        raise Unsupported(f"{operation.name}, which is not modelled", line_of(operation))
    if not _is_known(operation):
        what = f"{operation.name}, which may access memory in ways that are not modelled"
        raise Unsupported(what, line_of(operation))


def _is_known(operation: Operation) -> bool:
    dialect = operation.name.split(".")[0]
    if dialect == "tt":
        return operation.name.removeprefix("tt.") in _TRITON
    return (
        dialect in _PURE_DIALECTS and not operation.regions
    ) or operation.name in _CONTROL | _EFFECTS


def _kernel_of(module: Operation) -> Operation:
    functions = [
        operation for operation in module.regions[0][0].operations if operation.name == "tt.func"
    ]
    kernels = [function for function in functions if function.regions]
    if not kernels:
        raise Unsupported("a module without a kernel")
    if len(kernels) > 1:
        raise Unsupported("tt.call: the function is not inlined", line_of(kernels[1]))
    names = [argument.name for argument in kernels[0].regions[0][0].arguments if argument.name]
    if len(set(names)) < len(names):
        raise Unsupported("two arguments with the same name")
    return kernels[0]


def name_arguments(module: Operation, names: Sequence[str]) -> None:
    """Give the kernel's arguments the user's names. Raises Unsupported.

    In TTIR, an argument that a branch assigns to a variable (`n = m`) has the variable's name.
    """
    kernels = [
        operation for operation in module.regions[0][0].operations if operation.name == "tt.func"
    ]
    arguments = kernels[0].regions[0][0].arguments if kernels and kernels[0].regions else []
    if len(arguments) == len(names):
        for argument, name in zip(arguments, names, strict=True):
            argument.path = name
            argument.name = "" if "." in name else name  # of a tuple, which no contract names
    elif [argument.name for argument in arguments if argument.name] != list(names):
        # a descriptor of the host is several arguments; the others still tell which is which
        raise Unsupported(f"arguments other than {', '.join(names) or 'none'}")


def _note_edges(structure: Structure, block: IrBlock) -> None:
    for operation in block.operations:
        if operation.name not in _BRANCHES:
            continue
        for number, (label, _) in enumerate(operation.successors):
            edge = Edge(block.label, operation, number, passed(operation, number))
            structure.edges.setdefault(label, []).append(edge)


def _refuse_loops(structure: Structure, blocks: list[IrBlock]) -> None:
    """Check that no block leads back to itself; the text may name them in any order."""
    waits = {block.label: len(structure.edges.get(block.label, ())) for block in blocks}
    ready = [block for block in blocks if not waits[block.label]]
    by_label = {block.label: block for block in blocks}
    for block in ready:
        for operation in (
            operation for operation in block.operations if operation.name in _BRANCHES
        ):
            for label, _ in operation.successors:
                waits[label] -= 1
                if not waits[label]:
                    ready.append(by_label[label])
    if len(ready) < len(blocks):
        looped = next(block for block in blocks if waits[block.label])
        raise Unsupported("a loop made of branches", line_of(looped.end))


def _read_block(structure: Structure, block: IrBlock, path: Path) -> None:
    for operation in block.operations:
        structure.paths[operation] = path
        for number, region in enumerate(operation.regions):
            inner = _entered(structure, operation, number, region, path)
            if len(region) > 1:
                raise Unsupported(f"{operation.name} with branches in it", line_of(operation))
            for inner_block in region:
                _read_block(structure, inner_block, inner)


def _entered(
    structure: Structure, operation: Operation, number: int, region: list[IrBlock], path: Path
) -> Path:
    """Note the arguments of a region, and return the path inside of it."""
    arguments = list(_arguments(region))
    match operation.name:
        case "scf.for":
            if "unsignedCmp" in operation.attributes:
                raise Unsupported("scf.for with an unsigned counter", line_of(operation))
            kind, inner = "for", (*path, ("for", operation, 0))
        case "scf.while":
            kind = ("while before", "while after")[number]
            inner = (*path, ("while", operation, number))
        case "scf.if":
            kind, inner = "values", (*path, ("if", operation, number))
        case _:  # reductions and scans: they combine values, and access nothing
            kind, inner = "values", path
    for index, argument in enumerate(arguments):
        structure.owners[argument] = Owner(cast("Literal['for']", kind), operation, index)
    return inner


def _arguments(region: list[IrBlock]) -> Iterator[Value]:
    for block in region[:1]:
        yield from block.arguments
