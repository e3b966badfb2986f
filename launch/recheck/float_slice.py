"""Follows a loaded value to where it is reduced or stored."""

from __future__ import annotations

from compiler.ttir_to_numpy.ir import Operation, Value
from launch.recheck.access_slice import in_text_order

_REDUCED = frozenset({"tt.reduce", "tt.scan", "tt.dot"})
_SMOOTH = frozenset(
    {
        "arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.negf", "arith.extf",
        "arith.truncf", "math.exp", "math.exp2", "math.log", "math.log2", "math.sqrt", "math.rsqrt",
        "math.sin", "math.cos", "math.erf", "math.fma", "math.absf", "tt.broadcast",
        "tt.expand_dims", "tt.fp_to_fp", "tt.precise_divf", "tt.precise_sqrt", "tt.reshape",
        "tt.splat", "tt.trans",
    }
)  # fmt: skip
"""Operations that give NaN wherever an operand is NaN."""


def is_only_reduced(value: Value, function: Operation) -> bool:
    """Return whether NaN in `value` stays NaN on every way to a reduction or a store."""
    reached = {value}
    for operation in in_text_order(function):
        uses = [one for one in operation.operands if one in reached]
        if not uses or operation.name in _REDUCED:
            continue
        if operation.name == "tt.store":
            if operation.operands[1] not in uses or len(uses) > 1:
                return False
        elif operation.name in _SMOOTH:
            reached.update(operation.results)
        else:
            return False
    return True
