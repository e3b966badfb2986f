"""The table of a sweep: rows filtered, sorted and paged as a query asks, and written as CSV."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from compiler.rejection import did_you_mean
from compiler.wanted import check_wanted
from sweeps.row import STATES

Rows = Sequence[Mapping[str, Any]]
SORTABLE: Final = (
    "index", "state", "verdict", "cache", "registers", "spill_store_bytes", "spill_load_bytes",
    "shared_bytes", "occupancy", "code_bytes", "compile_ms", "proof", "median_us", "repeats",
)  # fmt: skip
COLUMNS: Final = (
    "state", "verdict", "registers", "spill_store_bytes", "spill_load_bytes", "shared_bytes",
    "occupancy", "code_bytes", "compile_ms", "proof", "proof_reason", "median_us",
    "interval_us", "repeats", "cache", "compilation_key", "launch_id",
)  # fmt: skip
MAX_SORTED: Final = 8
_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Characters that start a formula in spreadsheets; the last are full-width = + - @."""


class WrongQuery(ValueError):
    """A parameter that asks for what the table does not have; `parameter` is its name."""

    def __init__(self, parameter: str, message: str) -> None:
        super().__init__(message)
        self.parameter = parameter


@dataclass(frozen=True, slots=True)
class TableQuery:
    """A query of a table. `only` has the allowed values by column."""

    sort: str = ""
    only: Mapping[str, Sequence[str]] = field(default_factory=dict)
    offset: int = 0
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """The rows of one page, and how many there are on all."""

    rows: Rows
    matched: int


def page_of(rows: Rows, query: TableQuery, axes: Sequence[str]) -> Page:
    """Return the rows that `query` asks for. Raises WrongQuery for a column that there is not."""
    wanted = {name: frozenset(values) for name, values in query.only.items()}
    kept = [
        row
        for row in rows
        if all(_written(_cell(row, name, axes)) in values for name, values in wanted.items())
    ]
    for name, is_down in reversed(_keys(query.sort, axes)):
        known = [row for row in kept if _cell(row, name, axes) is not None]
        unknown = [row for row in kept if _cell(row, name, axes) is None]
        known.sort(key=_OrderBy(name, axes), reverse=is_down)
        kept = known + unknown  # what is not known is last, whichever way
    end = None if query.limit is None else query.offset + query.limit
    return Page(kept[query.offset : end], len(kept))


def check_sort(sort: str, axes: Sequence[str]) -> None:
    """Refuse columns that a table over `axes` does not have. Raises WrongQuery."""
    _keys(sort, axes)


@dataclass(frozen=True, slots=True)
class _OrderBy:
    name: str
    axes: Sequence[str]

    def __call__(self, row: Mapping[str, Any]) -> tuple[int, Any]:
        return _order(_cell(row, self.name, self.axes))


def _keys(sort: str, axes: Sequence[str]) -> list[tuple[str, bool]]:
    keys = []
    columns = [name for name in sort.split(",") if name]
    if len(columns) > MAX_SORTED:
        raise WrongQuery("sort", f"{len(columns)} columns to sort by; the limit is {MAX_SORTED}")
    for written in columns:
        name = written.removeprefix("-")
        known = (*SORTABLE, *axes)
        if name not in known:
            message = f"{name[:100]!r} is not a column to sort by.{did_you_mean(name, known)}"
            raise WrongQuery("sort", f"{message} There are {', '.join(known[:40])}")
        keys.append((name, written.startswith("-")))
    return keys


def _cell(row: Mapping[str, Any], name: str, axes: Sequence[str]) -> Any:
    return row["values"].get(name) if name in axes else row.get(name)


def _order(value: Any) -> tuple[int, Any]:
    """Return what sorts values of one column that may be of several types."""
    if isinstance(value, int | float):
        return 0, value
    return 1, value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _written(value: Any) -> str:
    """Return a value as a query and a cell write it: texts as they are, all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def check_states(states: Iterable[str]) -> None:
    """Refuse a state that no row can have. Raises WrongQuery."""
    for state in states:
        if state not in STATES:
            message = f"{state[:100]!r} is not a state of a row.{did_you_mean(state, STATES)}"
            raise WrongQuery("state", f"{message} There are {', '.join(STATES)}")


def as_csv(rows: Rows, axes: Sequence[str]) -> str:
    """Return rows as CSV (RFC 4180), with a header; no cell is a formula to a spreadsheet."""
    classes = sorted({name for row in rows for name in _mix(row)})
    text = io.StringIO()
    writer = csv.writer(text)
    header = ["index", *axes, *COLUMNS, "reason", "pruned", "problem"]
    writer.writerow([*map(_safe, header), *(_safe(f"instructions.{name}") for name in classes)])
    for row in rows:
        check_wanted()
        mix = _mix(row)
        cells = [row["index"], *(row["values"].get(axis) for axis in axes)]
        cells += [row.get(name) for name in (*COLUMNS, "reason")]
        cells += [(row.get("pruned") or {}).get("reason"), (row.get("problem") or {}).get("detail")]
        writer.writerow([_safe(cell) for cell in (*cells, *(mix.get(name) for name in classes))])
    return text.getvalue()


def _mix(row: Mapping[str, Any]) -> Mapping[str, Any]:
    mix = row.get("instruction_mix") or {}
    return {"total": mix["total"], **mix.get("by_class", {})} if "total" in mix else {}


def _safe(cell: Any) -> Any:
    """Return a cell that no spreadsheet runs; numbers stay numbers."""
    if cell is None:
        return ""
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        return cell
    text = _written(cell)
    return f"'{text}" if text.startswith(_FORMULAS) else text
