"""Numbers of a run form that need a dtype or a shape: made once, before any program runs."""

from compiler.ttir_to_numpy import mlir_types
from compiler.ttir_to_numpy.scope import NumberSpelling, NumpyExpression

LIST = "numbers"
"""The text's name for them."""


class Constants:
    """The constants of one module, each with one text."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    @property
    def spelling(self) -> NumberSpelling:
        """Return how bare numbers are written where they need a dtype."""
        return NumberSpelling(self.typed, self.full)

    def typed(self, text: str, type_: str) -> NumpyExpression:
        """Return a number of one dtype, with an axis of 1 for each that its type has."""
        ones = (1,) * len(mlir_types.shape_of(type_))
        array = f"np.full({(1, *ones)}, {text}, {mlir_types.dtype_of(type_)})"
        return NumpyExpression(self.of(array), ones)

    def full(self, text: str, type_: str) -> str:
        """Return a number in its type's whole shape, which takes no memory."""
        shape = mlir_types.shape_of(type_)
        dtype = mlir_types.dtype_of(type_)
        return self.of(f"np.broadcast_to(np.array({text}, {dtype}), {(1, *shape)})")

    def of(self, text: str) -> str:
        """Return the name for the value of `text`, which is the same for all programs."""
        return f"{LIST}[{self._places.setdefault(text, len(self._places))}]"

    @property
    def lines(self) -> list[str]:
        """Return the lines that make them."""
        return [f"{LIST} = [", *(f"    {text}," for text in self._places), "]"]
