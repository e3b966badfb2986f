"""The baseline: accepted measurements, in a file to commit.

Equal measurements give equal bytes: sorted, one number per line, so that diffs show what changed.
Only numbers that budgets compare with are kept, and times only if a budget bounds them.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tritonc.gate.cell_numbers import CellNumbers
from tritonc.gate.cells import Cell, CellKey, version_order
from tritonc.gate.line_growth import LineCounts, line_counts
from tritonc.gate.metric_budget import BASELINE, CLASSES, COMPILE_TIME, OPCODES, PTX, TIME
from tritonc.gate.toml_reading import FileProblem
from tritonc.local_file import bounded_bytes
from tritonc.service_errors import TritoncError

VERSION = 1
MAX_BYTES = 64 << 20
SETTINGS = "settings"

Entries = dict[str, dict[str, dict[str, dict[str, Any]]]]
"""Measurements by kernel, target and Triton, as in the file."""


class InvalidBaseline(TritoncError):
    """A baseline that cannot be read or is malformed."""


@dataclass(frozen=True, slots=True)
class BaselineEntry:
    """The baseline of a cell; `triton` differs from the cell's if it has none for that version."""

    triton: str
    metrics: Mapping[str, float]
    ptx: str | None
    lines: LineCounts
    intervals: Mapping[str, tuple[float, float]]
    device: str | None
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Baseline:
    """The entries of a baseline file."""

    entries: Entries

    def of(self, cell: Cell) -> BaselineEntry | None:
        """Return the baseline of a cell.

        If the cell's Triton is missing, the next older one counts, then the next newer one. So a
        matrix with a new Triton is compared with the old one.
        """
        known = self.entries.get(cell.kernel.name, {}).get(cell.target, {})
        order = sorted(known, key=version_order)
        here = version_order(cell.triton)
        older = [version for version in order if version_order(version) <= here]
        nearest = older[-1:] or order[:1]
        return _known(nearest[0], known[nearest[0]]) if nearest else None

    def missing(self, cells: Iterable[Cell]) -> list[CellKey]:
        """Return the entries without a cell."""
        there = {cell.key for cell in cells}
        return sorted(key for key in _keys(self.entries) if key not in there)

    def updated(self, measured: Mapping[Cell, CellNumbers], *, keep_others: bool) -> "Baseline":
        """Return the baseline of the measurements; a cell without any keeps its old entry."""
        entries: Entries = {}
        failed = {c.key for c, m in measured.items() if m.failure is not None or m.has_no_times}
        fresh = {c.key: _entry(c, m) for c, m in measured.items() if c.key not in failed}
        kept = [key for key in _keys(self.entries) if keep_others or key in failed]
        for name, target, triton in sorted({*fresh, *kept}):
            entry = fresh.get((name, target, triton)) or self.entries[name][target][triton]
            entries.setdefault(name, {}).setdefault(target, {})[triton] = entry
        return Baseline(entries)

    def text(self) -> str:
        """Return the content of the file."""
        head = {"version": VERSION, "kernels": self.entries}
        return _written(head, "") + "\n"


def read_baseline(path: Path, led: Path) -> Baseline | None:
    """Return the baseline in the file `led`, the resolved `path`; None if it does not exist.

    Raises InvalidBaseline.
    """
    try:
        text = bounded_bytes(led, MAX_BYTES).decode()
        document = json.loads(text, parse_constant=_no_number)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidBaseline(f"{path}: this is not a baseline: {error}") from error
    if not isinstance(document, dict) or document.get("version") != VERSION:
        raise InvalidBaseline(f"{path}: this is not a baseline of version {VERSION}")
    try:
        entries: Entries = document["kernels"]
        for name, target, triton in _keys(entries):
            _known(triton, entries[name][target][triton])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        message = f"{path}: this is not a baseline: {error}; --update-baseline writes a new one"
        raise InvalidBaseline(message) from error
    return Baseline(entries)


def missing_baseline(cells: Iterable[Cell], path: Path) -> list[FileProblem]:
    """Return an error if a budget compares with a missing baseline."""
    for cell in cells:
        for bounds in cell.budgets.values():
            if any(budget.reference == BASELINE for budget in bounds):
                message = f"there is no {path} to compare with; --update-baseline writes it"
                return [FileProblem("baseline", message)]
    return []


def _entry(cell: Cell, measured: CellNumbers) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    for metric, value in measured.metrics.items():
        name, _, inner = metric.partition(".")
        if name == TIME and _is_compared(cell, name):
            low, high = measured.intervals.get(metric, (value, value))
            entry.setdefault(TIME, {})[inner] = [low, value, high]
        elif name == CLASSES:
            entry.setdefault(name, {}).update({inner: value} if value else {})
        elif name not in (OPCODES, TIME, COMPILE_TIME) or _is_compared(cell, name):
            entry[metric] = value
    named = {"device": measured.device, PTX: measured.ptx}
    entry |= {name: text for name, text in named.items() if text is not None}
    entry |= {SETTINGS: dict(measured.settings)} if measured.settings else {}
    return entry | (_instructions(cell, measured) if CLASSES in entry else {})


def _instructions(cell: Cell, measured: CellNumbers) -> dict[str, Any]:
    """Return the opcodes that budgets name, and the instructions of each line."""
    asked = [metric for metric in cell.budgets if metric.startswith(f"{OPCODES}.")]
    opcodes = {metric: measured.opcodes(metric.partition(".")[2]) for metric in asked}
    return opcodes | {"lines": line_counts(measured.lines, cell.kernel.lines)}


def _is_compared(cell: Cell, metric: str) -> bool:
    return any(budget.reference == BASELINE for budget in cell.budgets.get(metric, ()))


def _known(triton: str, entry: Mapping[str, Any]) -> BaselineEntry:
    """Parse an entry. Raises KeyError, TypeError or ValueError if it is malformed."""
    metrics = {n: float(v) for n, v in entry.items() if isinstance(v, int | float)}
    metrics |= {f"{CLASSES}.{n}": float(v) for n, v in entry.get(CLASSES, {}).items()}
    intervals = {}
    for case, (low, median, high) in entry.get(TIME, {}).items():
        name = f"{TIME}.{case}" if case else TIME
        metrics[name], intervals[name] = float(median), (float(low), float(high))
    lines = {
        str(line): {str(n): int(c) for n, c in counts.items()}
        for line, counts in entry.get("lines", {}).items()
    }
    settings = dict(entry.get(SETTINGS, {}).items())
    device = entry.get("device")
    return BaselineEntry(triton, metrics, entry.get(PTX), lines, intervals, device, settings)


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is not a number")


def _keys(entries: Entries) -> list[CellKey]:
    return [
        (name, target, triton)
        for name, targets in entries.items()
        for target, tritons in targets.items()
        for triton in tritons
    ]


def _written(value: Any, indent: str) -> str:
    """Return JSON with one member per line; innermost objects and lists are on one line."""
    if not isinstance(value, dict) or not any(isinstance(v, dict | str) for v in value.values()):
        return json.dumps(value, sort_keys=True, ensure_ascii=True)
    deeper = indent + " "
    members = sorted(value.items(), key=lambda item: (item[0] != "version", item[0]))
    lines = [f"{deeper}{json.dumps(name)}: {_written(v, deeper)}" for name, v in members]
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
