"""Output of benchmarks on a GPU: a line for each measurement, with its bar if it has one."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One line of the table; `bar` bounds `value` from above, with `at_least` from below."""

    name: str
    value: float
    unit: str
    bar: float | None = None
    at_least: bool = False
    note: str = ""

    @property
    def met(self) -> str:
        """The bar and whether it is met."""
        if self.bar is None:
            return ""
        is_met = self.value >= self.bar if self.at_least else self.value <= self.bar
        return "met" if is_met else "NOT MET"

    def cells(self) -> list[str]:
        """Return the cells of the line."""
        sign = "≥" if self.at_least else "≤"
        bar = "" if self.bar is None else f"{sign} {self.bar:g} {self.unit}"
        digits = 2 if self.unit == "s" else 1
        return [self.name, f"{self.value:.{digits}f} {self.unit}", bar, self.met, self.note]


def show(lines: Sequence[Line]) -> None:
    """Print the lines as a Markdown table."""
    table = [["what", "measured", "bar", "met", ""], *(line.cells() for line in lines)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    table.insert(1, ["-" * width for width in widths])
    for cells in table:
        print(f"| {' | '.join(map(str.ljust, cells, widths))} |", flush=True)
