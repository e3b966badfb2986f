"""Finds the values of a kernel that are the same for all programs, without running it.

Conditions and loops that only these decide stay plain Python. What is missed here is only slower:
a value of one element is found to be uniform when it is there.
"""

from collections.abc import Mapping, Sequence

from compiler.ttir_to_numpy import arithmetic
from compiler.ttir_to_numpy.batched.reachable import Reachable
from compiler.ttir_to_numpy.ir import IrBlock, Operation, Value

_PURE = frozenset({*arithmetic.EXPRESSIONS, "arith.constant", "tt.get_num_programs"})
_PURE_IN_FUNCTIONS = _PURE | {
    "scf.if", "scf.for", "scf.while", "scf.yield", "scf.condition", "cf.br", "cf.cond_br",
    "tt.return", "ub.poison",
}  # fmt: skip


class Uniformity:
    """The uniform values of all functions that a kernel reaches.

    Scalars are uniform that come of constants and of the kernel's own arguments alone, also by way
    of functions; an argument of a function is where it is so in all of its calls.
    """

    def __init__(self, reachable: Reachable) -> None:
        self._reachable = reachable
        self._pure: dict[Operation, bool] = {}
        for function in reversed(reachable.callers_first):
            self._pure[function] = self._is_pure(function)
        self._values: dict[Operation, set[Value]] = {
            function: set(function.regions[0][0].arguments) for function in reachable.callers_first
        }
        self.has_uneven_loops = False
        for function in reachable.callers_first:
            self._add(self._values[function], function.regions[0])

    @property
    def values(self) -> Mapping[Operation, set[Value]]:
        """Return the uniform values by the function that they are in."""
        return self._values

    def _is_pure(self, function: Operation) -> bool:
        """Return whether all results of a function are uniform if its arguments are."""
        for operation in self._reachable.operations[function]:
            if operation.name == "tt.call":
                called = self._reachable.called(operation)
                if called is None or not self._pure[called]:
                    return False
            elif operation.name not in _PURE_IN_FUNCTIONS:
                return False
        return True

    def _add(self, uniform: set[Value], blocks: Sequence[IrBlock]) -> None:
        for block in blocks:
            for operation in block.operations:
                name = operation.name
                if name == "tt.call":
                    self._call(uniform, operation)
                elif name in _PURE and uniform.issuperset(operation.operands):
                    uniform.update(operation.results)
                elif name == "scf.while":
                    self.has_uneven_loops = True
                elif name == "scf.for":
                    if uniform.issuperset(operation.operands[:3]):
                        uniform.add(operation.regions[0][0].arguments[0])
                    else:
                        self.has_uneven_loops = True
                for region in operation.regions:
                    self._add(uniform, region)

    def _call(self, uniform: set[Value], operation: Operation) -> None:
        called = self._reachable.called(operation)
        if called is None:
            return
        arguments = called.regions[0][0].arguments
        for argument, operand in zip(arguments, operation.operands, strict=False):
            if operand not in uniform:
                self._values[called].discard(argument)
        if self._pure[called] and uniform.issuperset(operation.operands):
            uniform.update(operation.results)
