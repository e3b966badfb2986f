"""A piece of Python text for a value, with the facts known about it without running it."""

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.ttir_to_numpy.refusal import Untranslatable


@dataclass(frozen=True, slots=True)
class NumpyExpression:
    """`text` as Python.

    `shape` is the one that NumPy gives it: smaller than the value's where broadcasting fills the
    rest. `is_atom` means that no brackets are needed around it, `is_bare` that it is a Python
    number, which takes the dtype of its other operand.
    """

    text: str
    shape: tuple[int, ...] = ()
    is_atom: bool = True
    is_bare: bool = False

    @property
    def inner(self) -> str:
        """Return the text as an operand of an operator."""
        return self.text if self.is_atom and not self.text.startswith("-") else f"({self.text})"


def broadcast(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the shape that operands of these shapes give together."""
    rank = max((len(shape) for shape in shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    shape = []
    for sizes in zip(*padded, strict=True):
        wide = {size for size in sizes if size != 1} or {1}
        if len(wide) > 1:
            message = "operands of different shapes"
            raise Untranslatable(message)
        shape.append(wide.pop())
    return tuple(shape)
