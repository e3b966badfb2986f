"""Shows that every program of a kernel ends, so that it stores what it is read to store.

A kernel that waits or traps stores nothing from there on. What is not shown to end is named.
"""

from __future__ import annotations

from compiler.proof.access_reader import lanes
from compiler.proof.obligations import Prover, Statements
from compiler.proof.terms import line_of
from compiler.ttir_to_numpy.ir import Operation
from compiler.ttir_to_numpy.mlir_types import shape_of

_STOPPING = ("tt.assert", "cf.assert", "llvm.intr.assume")
"""Operations after which nothing is defined where their operand is false."""


class MayNotEnd(Exception):
    """A program might never reach its end; the message names the place."""


def refuse_while_loops(prover: Prover) -> None:
    """Raise MayNotEnd for a loop whose number of turns nothing bounds."""
    for operation in prover.evaluator.structure.paths:
        if operation.name == "scf.while":
            raise MayNotEnd(f"the while loop at line {line_of(operation)} might never end")


def ends(prover: Prover) -> Statements:
    """Return what shows that every program ends. Raises MayNotEnd, as readers of values do."""
    refuse_while_loops(prover)
    under = Statements()
    for operation in prover.evaluator.structure.paths:
        if operation.name == "scf.for":
            under |= _loop_statements(prover, operation)
        elif operation.name in _STOPPING:
            under |= _condition_statements(prover, operation)
    return under


def _loop_statements(prover: Prover, operation: Operation) -> Statements:
    """Return what shows that the loop's step is above 0, and that its counter does not wrap."""
    under = Statements()
    for check in sorted(prover.evaluator.loops.of(operation).checks, key=str):
        conclusion = prover.check(check, None)
        if conclusion.verdict != "proved":
            raise MayNotEnd(f"the loop at line {line_of(operation)} might never end")
        under |= conclusion.under
    return under


def _condition_statements(prover: Prover, operation: Operation) -> Statements:
    """Return what shows that an asserted or assumed condition holds."""
    evaluator = prover.evaluator
    value = operation.operands[0]
    with evaluator.collecting() as checks:
        path = evaluator.path(evaluator.structure.paths[operation])
        holds = evaluator.truth(value, lanes(prover.unknowns, shape_of(value.type)))
    under = prover.shown(holds, [path])
    conclusions = [prover.check(check, None) for check in checks]
    if under is None or any(conclusion.verdict != "proved" for conclusion in conclusions):
        what = operation.name.rpartition(".")[2]
        raise MayNotEnd(
            f"what the {what} at line {line_of(operation)} demands is not shown to hold"
        )
    for conclusion in conclusions:
        under |= conclusion.under
    return under
