"""Writes checks of a source's promises to the compiler: hints of values, rules of descriptors."""

import re

from compiler.ttir_to_numpy import mlir_types
from compiler.ttir_to_numpy.analysis import HINTS
from compiler.ttir_to_numpy.ir import IrBlock, Operation, Value
from compiler.ttir_to_numpy.scope import CONSTANTS, NameScope

_DENSE = re.compile(r"dense<(?:\[(?P<each>[\d, ]+)\]|(?P<all>\d+))> : tensor<(?P<rank>\d+)xi32>")
_LOST = CONSTANTS | {"tt.call"}
"""Operations whose hints no pass reads: constants are known, calls are inlined first."""
_POINTER_USERS = {
    "tt.load": "read", "tt.atomic_load": "read", "tt.store": "write", "tt.atomic_rmw": "write",
    "tt.atomic_store": "write", "tt.atomic_cas": "write",
}  # fmt: skip
_MAX_FOLLOWED = 1000


def after(scope: NameScope, operation: Operation) -> None:
    """Write the check of an operation's result, such as `{tt.divisibility = dense<16> : ...}`."""
    if operation.name in _LOST or len(operation.results) != 1:
        return
    hints = [operation.attributes.get(name) for name in HINTS]
    _write(scope, operation.results[0], hints, operation)


def entered(scope: NameScope, block: IrBlock) -> None:
    """Write the checks of values that a loop carries: `{tt.divisibility_arg1 = ...}`."""
    holder = scope.analysis.holders.get(block)
    if holder is None or not any("_arg" in name for name in holder.attributes):
        return
    for number, argument in enumerate(block.arguments):
        hints = [holder.attributes.get(f"{name}_arg{number}") for name in HINTS]
        _write(scope, argument, hints, holder)


def _write(scope: NameScope, value: Value, hints: list[str | None], operation: Operation) -> None:
    if not any(hints) or value not in scope.expressions:
        return
    shape = mlir_types.shape_of(value.type)
    texts = [str(_numbers(hint, len(shape))) for hint in hints]
    access = _access_of(scope, value)
    parts = [scope.typed(value).text, str(shape), *texts, repr(access)]
    scope.emit(f"promise({', '.join(parts)})", operation)


def _numbers(hint: str | None, rank: int) -> tuple[int, ...]:
    """Return a hint's number for each axis (one for a scalar), () without a hint."""
    match = _DENSE.fullmatch(hint or "")
    if match is None:
        return ()
    if match["each"] is not None:
        numbers = tuple(int(number) for number in match["each"].split(","))
    else:
        numbers = (int(match["all"]),) * int(match["rank"])
    return numbers if len(numbers) == max(rank, 1) else ()


def _access_of(scope: NameScope, value: Value) -> str | None:
    """Return the direction of an access in this function whose address `value` leads to."""
    pending, seen = [value], {value}
    while pending and len(seen) < _MAX_FOLLOWED:
        current = pending.pop()
        for use in scope.analysis.uses.get(current, []):
            if use.name in _POINTER_USERS:
                if use.operands[0] is current:
                    return _POINTER_USERS[use.name]
                continue
            if use.regions or len(use.results) != 1 or use.results[0] in seen:
                continue
            seen.add(use.results[0])
            pending.append(use.results[0])
    return None
