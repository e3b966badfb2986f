"""Loops, conditions, calls. A carried value keeps one name if that changes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from compiler.ttir_to_numpy import mlir_types
from compiler.ttir_to_numpy.ir import IrBlock, Operation, Value
from compiler.ttir_to_numpy.refusal import Untranslatable
from compiler.ttir_to_numpy.scope import Body, NameScope, results_of

PLAIN_NAMES = frozenset(
    {"tt.splat", "tt.broadcast", "tt.expand_dims", "arith.bitcast", "tt.bitcast", "tt.fp_to_fp"}
)
"""Operations whose result may be just another name of their operand."""


def for_loop(scope: NameScope, operation: Operation, body: Body) -> None:
    """Write `scf.for`: the first operands are start, end and step, the rest are carried."""
    [block] = operation.regions[0]
    number, *carried = block.arguments
    name_after(carried, block.end.operands)
    begin(scope, operation, carried, operation.operands[3:])
    loop_head(scope, operation, number)
    times = Counter(block.end.operands)
    for value, next_ in zip(carried, block.end.operands, strict=True):
        if times[next_] == 1 and _may_take_place(scope, block, value, next_):
            scope.share(next_, scope.name_for(value))
    with scope.loop():
        inside(scope, lambda: _next_round(scope, carried, body(scope, block)))
    for result, value in zip(operation.results, carried, strict=True):
        scope.share(result, scope.name_for(value))


def loop_head(scope: NameScope, operation: Operation, number: Value) -> None:
    """Write the line that begins `scf.for`."""
    ends = ", ".join(scope.value(value).text for value in operation.operands[:3])
    wide = "" if number.type == "i32" else f", {mlir_types.dtype_of(number.type)}"
    function = "unsigned_loop" if "unsignedCmp" in operation.attributes else "loop"
    name = scope.name_for(number, otherwise="i")
    scope.emit(f"for {name} in {function}({ends}{wide}):", operation)


def while_loop(scope: NameScope, operation: Operation, body: Body) -> None:
    """Write `scf.while`: one region decides, the other one continues."""
    [before], [after] = operation.regions
    name_after(before.arguments, after.end.operands)
    name_after(after.arguments, before.end.operands[1:])
    begin(scope, operation, before.arguments, operation.operands)
    scope.emit("while True:", operation)

    def rounds() -> None:
        end = body(scope, before)
        condition, *values = end.operands
        own = scope.analysis.arguments_of(before)
        for value, argument in zip(values, after.arguments, strict=True):
            if value in own:  # changed only when the round is over
                scope.share(argument, scope.name_for(value))
                scope.shared_names.add(scope.name_for(value))
        scope.assign(after.arguments, [scope.exact(value) for value in values], end)
        scope.emit(f"if not {scope.value(condition).inner}:", end)
        inside(scope, lambda: scope.emit("break"))
        _next_round(scope, before.arguments, body(scope, after))

    with scope.loop():
        inside(scope, rounds)
    for result, argument in zip(operation.results, after.arguments, strict=True):
        scope.share(result, scope.name_for(argument))


def condition(scope: NameScope, operation: Operation, body: Body) -> None:
    """Write `scf.if`."""
    targets = operation.results
    name_after(targets, operation.regions[0][0].end.operands)
    for target in targets:
        scope.name_for(target)
    scope.emit(f"if {scope.value(operation.operands[0]).text}:", operation)

    def branch(block: IrBlock) -> None:
        end = body(scope, block)
        scope.assign(targets, [scope.exact(value) for value in end.operands], end)

    inside(scope, lambda: branch(operation.regions[0][0]))
    otherwise = operation.regions[1] if len(operation.regions) > 1 else []
    if otherwise and (targets or len(otherwise[0].operations) > 1):
        scope.emit("else:")
        inside(scope, lambda: branch(otherwise[0]))


def call(scope: NameScope, operation: Operation, body: Body) -> None:
    """Write `tt.call`."""
    name = scope.functions.name_of(operation.attributes["callee"])
    texts = ", ".join(scope.exact(operand) for operand in operation.operands)
    is_used = any(result in scope.analysis.uses for result in operation.results)
    results = results_of(scope, operation) if is_used else ""
    scope.emit(f"{results}{name}({texts})", operation)


def execute_region(scope: NameScope, operation: Operation, body: Body) -> None:
    """Write `scf.execute_region`: its block is written in place. Raises `Untranslatable`."""
    block, *others = operation.regions[0]
    if others:
        message = "scf.execute_region of several blocks"
        raise Untranslatable(message)
    end = body(scope, block)
    scope.assign(operation.results, [scope.exact(value) for value in end.operands], end)


def name_after(values: list[Value], others: list[Value]) -> None:
    """Call values without a name as those that are put there."""
    for value, other in zip(values, others, strict=True):
        value.name = value.name or other.name


def begin(scope: NameScope, operation: Operation, carried: list[Value], first: list[Value]) -> None:
    """Assign initial values and names to a loop's carried values."""
    times = Counter(first)
    for value, start in zip(carried, first, strict=True):
        if times[start] == 1 and _ends_here(scope, operation, start):
            scope.share(value, scope.value(start).text)
    scope.assign(carried, [scope.exact(value) for value in first], operation)


def _ends_here(scope: NameScope, operation: Operation, start: Value) -> bool:
    """Return whether `start` is a variable that only this loop needs."""
    known = scope.value(start)
    block = scope.analysis.block_of[operation]
    made_by = start.made_by
    is_of_block = start in scope.analysis.arguments_of(block) or (
        made_by is not None
        and made_by.name not in PLAIN_NAMES
        and scope.analysis.block_of.get(made_by) is block
    )
    return (
        is_of_block
        and known.text.isidentifier()
        and not known.is_bare
        and known.shape == mlir_types.shape_of(start.type)
        and len(scope.analysis.uses[start]) == 1
        and known.text not in scope.shared_names
    )


def _may_take_place(scope: NameScope, block: IrBlock, value: Value, next_: Value) -> bool:
    """Return whether `next_` may overwrite `value`: nothing needs the old one any more."""
    made_by = next_.made_by
    if made_by is None or scope.analysis.block_of.get(made_by) is not block:
        return False
    if made_by.name in {"scf.for", "scf.while", "arith.constant"} or made_by.name in PLAIN_NAMES:
        return False
    if made_by in scope.analysis.inlined:
        return False
    made_at = scope.analysis.index_of[made_by]
    places = [scope.analysis.location_of(use, block) for use in _needing(scope, value)]
    return all(place is not None and place <= made_at for place in places)


def _needing(scope: NameScope, value: Value) -> list[Operation]:
    """Return what uses `value`, also by another name."""
    needing: list[Operation] = []
    pending = [value]
    while pending:
        for use in scope.analysis.uses.get(pending.pop(), []):
            needing.append(use)
            if use.name in PLAIN_NAMES:
                pending += use.results
    return needing


def _next_round(scope: NameScope, carried: list[Value], end: Operation) -> None:
    scope.assign(carried, [scope.exact(value) for value in end.operands], end)


def inside(scope: NameScope, write: Callable[[], None]) -> None:
    """Write a body one level further in; an empty one is `pass`."""
    scope.depth += 1
    lines = len(scope.lines)
    write()
    if len(scope.lines) == lines:
        scope.emit("pass")
    scope.depth -= 1


STATEMENTS: Mapping[str, Callable[[NameScope, Operation, Body], None]] = {
    "scf.for": for_loop,
    "scf.while": while_loop,
    "scf.if": condition,
    "scf.execute_region": execute_region,
    "tt.call": call,
}
"""Writers by the operation's name."""
