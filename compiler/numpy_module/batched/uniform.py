"""Which values of a function are the same for all programs, told without running it.

Conditions and loops that only these decide stay plain Python. What is missed here is only slower:
a value of one element is found to be uniform when it is there.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.numpy_module import arithmetic
from compiler.numpy_module.ir import IrBlock, Operation, Value

_PURE = frozenset({*arithmetic.EXPRESSIONS, "arith.constant", "tt.get_num_programs"})


def uniform_values(function: Operation, *, is_kernel: bool) -> set[Value]:
    """Return scalars that come of constants and of the kernel's own arguments alone."""
    blocks = function.regions[0]
    found = set(blocks[0].arguments) if is_kernel and blocks else set[Value]()
    _add(found, blocks)
    return found


def _add(found: set[Value], blocks: Sequence[IrBlock]) -> None:
    for block in blocks:
        for operation in block.operations:
            is_known = found.issuperset(operation.operands)
            if operation.name in _PURE and is_known:
                found.update(operation.results)
            elif operation.name == "scf.for" and found.issuperset(operation.operands[:3]):
                found.add(operation.regions[0][0].arguments[0])
            for region in operation.regions:
                _add(found, region)
