"""Loops and conditions in which programs may diverge: a mask of active programs.

What all programs decide alike is written as in the other form, as plain Python.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from compiler.ttir_to_numpy import control_flow
from compiler.ttir_to_numpy.control_flow import begin, inside, name_after
from compiler.ttir_to_numpy.ir import IrBlock, Operation, Value
from compiler.ttir_to_numpy.scope import Body, NameScope


def for_loop(scope: NameScope, operation: Operation, body: Body) -> None:
    """Write `scf.for`: finished programs keep their values."""
    if scope.uniform.issuperset(operation.operands[:3]):
        control_flow.for_loop(scope, operation, body)
        return
    [block] = operation.regions[0]
    number, *carried = block.arguments
    _, _, _, *first = operation.operands
    name_after(carried, block.end.operands)
    begin(scope, operation, carried, first)
    scope.shared_names.update(scope.name_for(value) for value in carried)
    control_flow.loop_head(scope, operation, number)
    with scope.loop():
        inside(scope, lambda: _kept(scope, carried, body(scope, block)))
    for result, value in zip(operation.results, carried, strict=True):
        scope.share(result, scope.name_for(value))


def _kept(scope: NameScope, carried: list[Value], end: Operation) -> None:
    texts = []
    for value, next_ in zip(carried, end.operands, strict=True):
        old, new = scope.name_for(value), scope.exact(next_)
        texts.append(old if new == old else f"keep({new}, {old})")
    scope.assign(carried, texts, end)


def while_loop(scope: NameScope, operation: Operation, body: Body) -> None:
    """Write `scf.while`: one region decides which programs continue, the other is their round."""
    [before], [after] = operation.regions
    name_after(before.arguments, after.end.operands)
    name_after(after.arguments, before.end.operands[1:])
    begin(scope, operation, before.arguments, operation.operands)
    rounds = scope.fresh("rounds")
    names = [scope.name_for(argument) for argument in after.arguments]
    scope.shared_names.update(names)
    scope.emit(f"{rounds} = begin_while()", operation)
    scope.emit("while True:", operation)

    def round_() -> None:
        end = body(scope, before)
        condition, *values = end.operands
        if names:
            texts = ", ".join(scope.exact(value) for value in values)
            scope.emit(f"{', '.join(names)}, = {rounds}.passed({texts})", end)
        scope.emit(f"if not {rounds}.go_on({scope.typed(condition).text}):", end)
        inside(scope, lambda: scope.emit("break"))
        last = body(scope, after)
        scope.assign(before.arguments, [scope.exact(value) for value in last.operands], last)

    with scope.loop():
        inside(scope, round_)
    for result, argument in zip(operation.results, after.arguments, strict=True):
        scope.share(result, scope.name_for(argument))


def condition(scope: NameScope, operation: Operation, body: Body) -> None:
    """Write `scf.if`: both sides run where programs differ, and each program has its own."""
    [decided], targets = operation.operands, operation.results
    if decided in scope.uniform:
        control_flow.condition(scope, operation, body)
        return
    name_after(targets, operation.regions[0][0].end.operands)
    names = [scope.name_for(target) for target in targets]
    branch = scope.fresh("branch")
    scope.emit(f"{branch} = begin_if({scope.typed(decided).text})", operation)

    def side(test: str, block: IrBlock) -> None:
        scope.emit(f"if {branch}.{test}():", operation)

        def write() -> None:
            end = body(scope, block)
            if names:
                texts = ", ".join(scope.exact(value) for value in end.operands)
                scope.emit(f"{branch}.gives({texts})", end)

        inside(scope, write)

    side("holds", operation.regions[0][0])
    otherwise = operation.regions[1] if len(operation.regions) > 1 else []
    if otherwise and (names or len(otherwise[0].operations) > 1):
        side("fails", otherwise[0])
    left = f"{', '.join(names)}, = " if names else ""
    scope.emit(f"{left}{branch}.end()", operation)


def structures(
    marked_loops: Collection[int],
) -> Mapping[str, Callable[[NameScope, Operation, Body], None]]:
    """Return writers by the operation's name; `marked_loops` report that they begin."""

    def loop(scope: NameScope, operation: Operation, body: Body) -> None:
        if operation.number in marked_loops:
            scope.emit(f"enter_loop({operation.number})", operation)
        for_loop(scope, operation, body)

    return {
        **control_flow.STATEMENTS,
        "scf.for": loop,
        "scf.while": while_loop,
        "scf.if": condition,
    }
