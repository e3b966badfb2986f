"""Budgets: their syntax, and the metrics that they can bound.

A budget bounds one metric by a number, or by a multiple of the value of the baseline or of another
Triton in the same run. Nothing is measured here.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tritonc.gate.toml_reading import TomlTable, shown

CLASSES, OPCODES = "instruction_classes", "opcodes"
BASELINE, TRITON, UNCHANGED, ANY = "baseline", "triton ", "unchanged", "any"
PROVED, ALL_SIZES = "proved", "all sizes"
PTX, SPILLS, TIME, COMPILE_TIME = "ptx", "spills", "median_us", "compile_ms"
BOTH, CUDA, HIP = ("cuda", "hip"), ("cuda",), ("hip",)
NO_SPILLS = "none"

BACKENDS = {
    "registers": BOTH,
    "spill_bytes": CUDA,
    "spilled_registers": HIP,
    "spilled_sgprs": HIP,
    "stack_bytes": BOTH,
    "shared_bytes": BOTH,
    "occupancy": BOTH,
    "code_bytes": BOTH,
    "instructions": BOTH,
    CLASSES: BOTH,
    OPCODES: BOTH,
    PROVED: BOTH,
    PTX: CUDA,
    COMPILE_TIME: BOTH,
    TIME: (),
}
"""The backends with each metric; times come from launches on a GPU, not from compilations."""

AT_LEAST = frozenset({"occupancy"})
_NUMBER = r"(?P<{}>\d[\d_]*(?:\.\d+)?)"
_BOUND = re.compile(
    r"(?P<sign><=|>=)?\s*(?:"
    + (_NUMBER.format("limit") + r"|(?:" + _NUMBER.format("factor"))
    + r"\s*[x*]\s*)?(?P<reference>baseline|triton \d[\w.+-]*)"
    + r"(?:\s*\+\s*" + _NUMBER.format("slack") + r")?)"
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MetricBudget:
    """A bound of one metric: `limit`, or `factor` times the value of `reference` plus `slack`.

    `metric` is a key of BACKENDS, followed by a dot and the class or opcode if any (`*`: each
    class). `reference` is None, `baseline`, or `triton 3.6.0`; with UNCHANGED as `written` no
    difference is allowed.
    """

    metric: str
    written: str
    is_least: bool = False
    limit: float = 0
    reference: str | None = None
    factor: float = 1
    slack: float = 0

    @property
    def name(self) -> str:
        """The metric without class or opcode."""
        return self.metric.partition(".")[0]

    def bound(self, reference_value: float | None) -> float:
        """Return the bound as a number, given the value of the reference."""
        if reference_value is None:
            return self.limit
        moved = -self.slack if self.is_least else self.slack
        return self.factor * reference_value + moved

    def is_kept(self, value: float, reference_value: float | None) -> bool:
        """Return whether `value` is within the budget."""
        bound = self.bound(reference_value)
        margin = 1e-9 * max(1.0, abs(bound))  # 1.05 x 20 is a little more than 21
        return value >= bound - margin if self.is_least else value <= bound + margin

    def sentence(self, reference_value: float | None, of: str) -> str:
        """Return the bound as text: `<= 63 (1.05 x 60 of the baseline)`."""
        sign = ">=" if self.is_least else "<="
        bound = f"{sign} {number(self.bound(reference_value))}"
        if reference_value is None or self.reference is None:
            return bound
        factor = "" if self.factor == 1 else f"{self.factor:g} x "
        slack = f" + {number(self.slack)}" if self.slack else ""
        return f"{bound} ({factor}{number(reference_value)} of {of}{slack})"


Budgets = Mapping[str, tuple[MetricBudget, ...]]
"""Budgets by metric; a metric that `any` releases has none."""


def number(value: float) -> str:
    """Return a number with at most four significant digits."""
    return f"{value:.4g}" if isinstance(value, float) and not value.is_integer() else f"{value:.0f}"


def read_budgets(table: TomlTable, further: tuple[str, ...] = ()) -> Budgets:
    """Return the budgets in a table; members named in `further` are for other readers."""
    table.only([*BACKENDS, SPILLS, *further])
    budgets: dict[str, tuple[MetricBudget, ...]] = {}
    for key, written in table.members.items():
        if key in (CLASSES, OPCODES) and isinstance(written, dict):
            inner = table.table(key)
            for name, bounds in written.items():
                budgets[f"{key}.{name}"] = _bounds(inner, name, f"{key}.{name}", bounds)
        elif key == OPCODES:
            table.add_problem(key, "write a table of opcodes, such as {LDG = 8}")
        elif key == CLASSES:
            budgets[f"{key}.*"] = _bounds(table, key, f"{key}.*", written)
        elif key == SPILLS:
            budgets |= _no_spills(table, written)
        elif key in BACKENDS:
            budgets[key] = _bounds(table, key, key, written)
    return budgets


def merged(*budgets: Budgets) -> Budgets:
    """Return the union; later budgets of a metric replace earlier ones."""
    both: dict[str, tuple[MetricBudget, ...]] = {}
    for some in budgets:
        both |= some
    return both


def _no_spills(table: TomlTable, written: Any) -> dict[str, tuple[MetricBudget, ...]]:
    metrics = ("spill_bytes", "spilled_registers", "spilled_sgprs")
    if written == ANY:
        return dict.fromkeys(metrics, ())
    if written != NO_SPILLS:
        table.add_problem(
            SPILLS, f'{shown(written)} is neither "none" nor "any"; `spill_bytes` takes numbers'
        )
    return {metric: (MetricBudget(metric, NO_SPILLS),) for metric in metrics}


def _bounds(table: TomlTable, key: str, metric: str, written: Any) -> tuple[MetricBudget, ...]:
    if written == ANY:
        return ()
    items = written if isinstance(written, list) else [written]
    read = [_bound(table, key, metric, item) for item in items]
    return tuple(budget for budget in read if budget is not None)


def _bound(table: TomlTable, key: str, metric: str, written: Any) -> MetricBudget | None:
    is_least = metric in AT_LEAST
    if metric == PTX:
        if written != UNCHANGED:
            table.add_problem(key, f'{shown(written)} is not "unchanged", the only budget for PTX')
            return None
        return MetricBudget(metric, UNCHANGED, reference=BASELINE)
    if metric == PROVED:
        if written != ALL_SIZES:
            table.add_problem(
                key, f'{shown(written)} is not "all sizes", the only budget of proofs'
            )
            return None
        return MetricBudget(metric, ALL_SIZES)
    if isinstance(written, int | float) and not isinstance(written, bool):
        if written < 0 or written != written or written == float("inf"):
            table.add_problem(key, f"{shown(written)} is not a bound; write a number of at least 0")
            return None
        return MetricBudget(metric, str(written), is_least, written)
    match = _BOUND.fullmatch(written.strip()) if isinstance(written, str) else None
    if match is None:
        table.add_problem(key, f"{shown(written)} is not a budget; {HOW_TO_WRITE}")
        return None
    values = {name: float((match[name] or "0").replace("_", "")) for name in ("limit", "slack")}
    factor = float((match["factor"] or "1").replace("_", ""))
    if match["sign"]:
        is_least = match["sign"] == ">="
    reference = match["reference"]
    return MetricBudget(metric, written, is_least, reference=reference, factor=factor, **values)


HOW_TO_WRITE = 'write 64, "<= 64", ">= 0.5", "<= 1.05 x baseline + 8" or "<= 1.1 x triton 3.6.0"'
