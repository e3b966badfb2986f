"""Finds the buffers that a kernel may write: more than it does, never fewer."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.recheck.reader import ReadOperation

_READING = frozenset({
    "tt.load", "tt.addptr", "tt.splat", "tt.unsplat", "tt.broadcast", "tt.expand_dims",
    "tt.reshape", "tt.trans", "tt.join", "tt.split", "tt.cat", "tt.bitcast", "tt.gather",
    "arith.select", "arith.cmpi", "tt.make_tensor_descriptor", "tt.descriptor_load",
    "tt.descriptor_gather", "tt.return", "tt.print", "tt.assert",
})  # fmt: skip


def written_buffers(kernel: ReadOperation, names: Sequence[str]) -> frozenset[str]:
    """Return the parameters that something other than a load may use as an address."""
    behind: dict[str, frozenset[str]] = {}
    for (key, type_), name in zip(kernel.regions[0][0].arguments, names, strict=True):
        if type_.is_pointer or type_.element.startswith("!tt.tensordesc"):
            behind[key] = frozenset({name})
    operations = list(kernel.inside())
    if any(operation.name == "tt.int_to_ptr" for operation in operations):
        return frozenset(names)
    blocks = [block for operation in operations for region in operation.regions for block in region]
    passing = [operation for operation in operations if operation.name.startswith(("scf.", "cf."))]
    before = -1
    while before != (before := sum(map(len, behind.values()))):
        for operation in operations:
            _note(behind, operation.operands, _results(operation))
        # what a region is passed, or passes on, may be any value of any region of the kernel
        carried = [name for operation in passing for name in operation.operands]
        around = [
            name
            for block in blocks
            for name, type_ in block.arguments
            if _is_address(type_.element)
        ]
        around += [name for operation in passing for name in _results(operation)]
        _note(behind, carried, around)
    written = [
        name
        for operation in operations
        if operation.name not in _READING and operation not in passing
        for name in _addresses(operation)
    ]
    return frozenset[str]().union(*(behind.get(name, frozenset()) for name in written))


def _is_address(element: str) -> bool:
    return element.startswith(("!tt.ptr", "!tt.tensordesc"))


def _addresses(operation: ReadOperation) -> list[str]:
    pairs = zip(operation.operands, operation.operand_types, strict=False)
    return [name for name, type_ in pairs if _is_address(type_.element)]


def _results(operation: ReadOperation) -> list[str]:
    pairs = zip(operation.results, operation.result_types, strict=False)
    return [name for name, type_ in pairs if _is_address(type_.element)]


def _note(
    behind: dict[str, frozenset[str]], sources: Sequence[str], targets: Sequence[str]
) -> None:
    buffers = frozenset[str]().union(*(behind.get(name, frozenset()) for name in sources))
    for target in targets:
        behind[target] = behind.get(target, frozenset()) | buffers
