"""Output of benchmarks: a line for every bar, with both compared numbers."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One comparison. `bar` bounds `ratio`: from above, or with `at_least` from below."""

    name: str
    ours: str
    baseline: str
    ratio: float
    bar: float
    at_least: bool = False

    @property
    def is_met(self) -> bool:
        """True if the ratio meets the bar."""
        return self.ratio >= self.bar if self.at_least else self.ratio <= self.bar

    def cells(self) -> list[str]:
        """Return the cells of the line."""
        bar = f"{'>=' if self.at_least else '<='} {self.bar:g}"
        met = "met" if self.is_met else "NOT MET"
        return [self.name, self.ours, self.baseline, f"{self.ratio:.2f}", bar, met]


def show(rows: list[Row]) -> None:
    """Print the rows as a Markdown table."""
    table = [["name", "ours", "baseline", "ratio", "bar", "met"], *(row.cells() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    table.insert(1, ["-" * width for width in widths])
    for cells in table:
        print(f"| {' | '.join(map(str.ljust, cells, widths))} |", flush=True)
