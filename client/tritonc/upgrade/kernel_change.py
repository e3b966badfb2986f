"""The change of one kernel for one target from a Triton to another, and how bad it is."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tritonc.gate.cell_numbers import CellNumbers
from tritonc.gate.cells import Cell
from tritonc.gate.line_growth import Growth, grown_lines, line_counts
from tritonc.gate.metric_budget import CLASSES, number

GROWTH_ALLOWED = 1.05
"""Instructions may grow by this factor before a change counts as worse."""
_SPILLS = ("spill_bytes", "spilled_registers")
_EPSILON = 1e-9


@dataclass(frozen=True, slots=True)
class KernelChange:
    """One kernel and target with both Tritons; `cell` is that of the newer one."""

    cell: Cell
    old: CellNumbers
    new: CellNumbers

    @property
    def is_worse(self) -> bool:
        """True if the newer Triton fails, spills more, or loses occupancy or instructions."""
        if self.old.failure is not None or self.new.failure is not None:
            return self.old.failure is None
        return not keeps_budget(self.old, self.new)

    @property
    def may_be_identical(self) -> bool:
        """True if all numbers of the machine code are equal, so that only its text can differ."""
        both = [
            {n: v for n, v in numbers.metrics.items() if n != "compile_ms"}
            for numbers in (self.old, self.new)
        ]
        return self.old.failure is None and self.new.failure is None and both[0] == both[1]

    def rank(self) -> tuple[float, ...]:
        """Return a sort key, worst first: failures, spills, occupancy, instructions, time."""
        failed = (self.new.failure is not None) - (self.old.failure is not None)
        return (
            -failed,
            -(spilled(self.new) - spilled(self.old)),
            -_ratio(self.old, self.new, "occupancy"),
            -_ratio(self.new, self.old, "instructions"),
            -_ratio(self.new, self.old, "compile_ms"),
        )

    def classes(self) -> Iterator[tuple[str, int, int]]:
        """Yield the classes of instructions that changed, the largest change first."""
        prefix = f"{CLASSES}."
        names = {n for m in (self.old.metrics, self.new.metrics) for n in m if n.startswith(prefix)}
        both = {
            n: (int(self.old.metrics.get(n, 0)), int(self.new.metrics.get(n, 0))) for n in names
        }
        for name, (old, new) in sorted(
            both.items(), key=lambda item: (-abs(item[1][1] - item[1][0]), item[0])
        ):
            if old != new:
                yield name.removeprefix(prefix), old, new

    def lines(self) -> tuple[Growth, ...]:
        """Return the source lines that gained most instructions."""
        texts = self.cell.kernel.lines
        return grown_lines(self.new.lines, line_counts(self.old.lines, texts), texts, "")

    def shown(self, metric: str, unit: float = 1) -> str:
        """Return a metric of both, `24 -> 32`, or once if it is the same; "" if unknown."""
        values = [self.old.metrics.get(metric), self.new.metrics.get(metric)]
        texts = ["?" if value is None else number(round(value / unit, 2)) for value in values]
        if texts == ["?", "?"]:
            return ""
        return texts[0] if texts[0] == texts[1] else " -> ".join(texts)

    def shown_spills(self) -> str:
        """Return the spills of both: bytes on NVIDIA, registers on AMD."""
        return next(filter(None, map(self.shown, _SPILLS)), "")


def keeps_budget(old: CellNumbers, new: CellNumbers) -> bool:
    """Return whether `new` needs no more than `old`: spills, occupancy, instructions."""
    if new.failure is not None:
        return False
    return (
        spilled(new) <= spilled(old)
        and _of(new.metrics, "occupancy") >= _of(old.metrics, "occupancy") - _EPSILON
        and _of(new.metrics, "instructions")
        <= GROWTH_ALLOWED * _of(old.metrics, "instructions") + _EPSILON
    )


def spilled(numbers: CellNumbers) -> float:
    """Return what a kernel spills: bytes on NVIDIA, registers on AMD."""
    return sum(_of(numbers.metrics, name) for name in _SPILLS)


def _of(metrics: Mapping[str, float], name: str) -> float:
    return metrics.get(name, 0)


def _ratio(above: CellNumbers, below: CellNumbers, metric: str) -> float:
    value, base = above.metrics.get(metric), below.metrics.get(metric)
    return value / base if value is not None and base else 1.0
