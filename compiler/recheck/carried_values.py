"""Finds the values of a loop that a proof covers: those that grow by the same number in each turn.

A proof takes all others for whatever the machine computes, and shows nothing about their overflow.
"""

from __future__ import annotations

from compiler.recheck.reader import ReadOperation

_SHAPES = frozenset({"tt.splat", "tt.broadcast", "tt.expand_dims", "tt.make_range"})
_MAX_DEPTH = 20


def covered_values(loop: ReadOperation) -> list[bool]:
    """Return whether each value that `scf.for` or `scf.while` carries grows alike."""
    first, last = loop.regions[0][0], loop.regions[-1][0]
    skipped = 1 if loop.name == "scf.for" else 0
    body = _Body(loop)
    if loop.name == "scf.while":  # `after` names what `scf.condition` passes on
        forwarded = first.operations[-1].operands[1:]
        names = (name for name, _ in last.arguments)
        body.passed = dict(zip(names, forwarded, strict=True))
    arguments = [name for name, _ in first.arguments[skipped:]]
    pairs = zip(last.operations[-1].operands, arguments, strict=True)
    return [body.grows(name, argument) for name, argument in pairs]


class _Body:
    """The values that are computed inside of a loop."""

    def __init__(self, loop: ReadOperation) -> None:
        self.passed: dict[str, str] = {}
        inside = list(loop.inside())
        self._made_by = {name: operation for operation in inside[1:] for name in operation.results}
        blocks = [block for operation in inside for region in operation.regions for block in region]
        self._varying = {name for block in blocks for name, _ in block.arguments}

    def grows(self, name: str, argument: str, depth: int = 0) -> bool:
        """Return whether a value is an argument of the loop and a sum of values that stay alike."""
        if self.passed.get(name, name) == argument:
            return True
        operation = self._made_by.get(name)
        if operation is None or depth > _MAX_DEPTH or len(operation.operands) != 2:
            return False
        a, b = operation.operands
        if operation.name not in ("arith.addi", "arith.subi", "tt.addptr"):
            return False
        if self._stays(b):
            return self.grows(a, argument, depth + 1)
        is_sum = operation.name == "arith.addi"
        return is_sum and self._stays(a) and self.grows(b, argument, depth + 1)

    def _stays(self, name: str, depth: int = 0) -> bool:
        """Return whether a value is the same in each turn."""
        if name in self._varying or depth > _MAX_DEPTH:
            return False
        operation = self._made_by.get(name)
        if operation is None:
            return True
        is_plain = operation.name in _SHAPES or operation.name.startswith("arith.")
        return is_plain and all(self._stays(operand, depth + 1) for operand in operation.operands)
