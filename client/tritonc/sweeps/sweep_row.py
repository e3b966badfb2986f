"""One variant of a sweep, and its cells in a table."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tritonc.compilation import UNFINISHED
from tritonc.diagnostic import Problem
from tritonc.launch_run import GOOD
from tritonc.members import read_members

_EXPECTED = frozenset({"succeeded", "completed"})
MEASURED = (
    "state", "registers", "spill_store_bytes", "spill_load_bytes", "shared_bytes", "occupancy",
    "code_bytes", "compile_ms", "proof", "proof_reason", "verdict", "reason", "median_us",
    "compilation_key",
)  # fmt: skip
"""The members of a row except its values."""
_MAX_CHARS = 100  # of the reason for a bad verdict; the row itself has the full text


@dataclass(frozen=True, slots=True)
class SweepRow:
    """One variant; members that are unknown or do not apply are None.

    `values` are by axis (`constexprs.BLOCK_SIZE`, `target`), a label if the value is long.
    `state` is queued, running, succeeded (compiled), completed (ran), failed, refused, cancelled,
    or pruned (not worth running, see `pruned`). `reason` explains the verdict in one line.
    `occupancy` is between 0 and 1. `proof` is proved, refuted, possible or unknown, with a reason.
    """

    index: int
    values: Mapping[str, Any]
    state: str
    compilation_key: str | None = None
    cache: str | None = None
    registers: int | None = None
    spill_store_bytes: int | None = None
    spill_load_bytes: int | None = None
    shared_bytes: int | None = None
    occupancy: float | None = None
    code_bytes: int | None = None
    instruction_mix: Mapping[str, Any] | None = None
    compile_ms: float | None = None
    proof: str | None = None
    proof_reason: str | None = None
    proof_url: str | None = None
    launch_id: str | None = None
    verdict: str | None = None
    reason: str | None = None
    median_us: float | None = None
    interval_us: tuple[float, float] | None = None
    repeats: int | None = None
    pruned: Mapping[str, Any] | None = None
    problem: Problem | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "SweepRow":
        """Parse a row. Raises KeyError or TypeError if it is malformed."""
        interval = body.get("interval_us")
        ends = None if interval is None else (interval[0], interval[1])
        return read_members(cls, body, interval_us=ends, problem=Problem.of(body), raw=body)

    @property
    def finished(self) -> bool:
        """True if the row has ended."""
        return self.state not in UNFINISHED

    @property
    def good(self) -> bool:
        """True if it compiled and, if it was run, without any finding against it."""
        if self.state == "completed":
            return self.verdict in GOOD
        return self.state in {"succeeded", "pruned"}


def sweep_cells(
    axes: Collection[str], rows: Sequence[SweepRow], won: Collection[int]
) -> tuple[list[str], list[list[str]]]:
    """Return headings and cells of a table, without empty columns.

    The variants in `won` are marked with a star.
    """
    shown = {name: [cell(row) for row in rows] for name, cell in _CELLS.items()}
    shown = {name: cells for name, cells in shown.items() if any(cells)}
    has_state = any(row.state not in _EXPECTED for row in rows)
    heads = ["#", *short_names(axes), *(["state"] if has_state else []), *shown]
    cells = [
        [
            f"{row.index}{' *' if row.index in won else ''}",
            *(_value(row.values.get(axis)) for axis in axes),
            *([row.state] if has_state else []),
            *(column[at] for column in shown.values()),
        ]
        for at, row in enumerate(rows)
    ]
    return heads, cells


def short_names(axes: Iterable[str]) -> list[str]:
    """Return the names of axes without their groups, unless two names would be equal."""
    names = list(axes)
    shorts = [name.partition(".")[2] or name for name in names]
    return [
        short if shorts.count(short) == 1 else name
        for name, short in zip(names, shorts, strict=True)
    ]


def _spilled(row: SweepRow) -> str:
    known = [n for n in (row.spill_store_bytes, row.spill_load_bytes) if n is not None]
    return str(sum(known)) if known else ""


def _time(row: SweepRow) -> str:
    if row.median_us is None:
        return ""
    interval = row.interval_us
    return f"{row.median_us:.4g}" + (f" ({interval[0]:.4g}-{interval[1]:.4g})" if interval else "")


def _why(row: SweepRow) -> str:
    if row.pruned:
        return str(row.pruned.get("detail") or row.pruned.get("reason") or "")
    if row.problem is None:
        return row.reason or row.proof_reason or ""
    problems = [f"{f.pointer.rpartition('/')[2]}: {f.message}" for f in row.problem.errors]
    return "; ".join(problems) or row.problem.detail or row.problem.title


def _short(text: str) -> str:
    return text if len(text) <= _MAX_CHARS else f"{text[:_MAX_CHARS]}…"


_CELLS: Mapping[str, Callable[[SweepRow], str]] = {
    "registers": lambda row: _number(row.registers),
    "spilled bytes": _spilled,
    "shared bytes": lambda row: _number(row.shared_bytes),
    "occupancy": lambda row: "" if row.occupancy is None else f"{100 * row.occupancy:.0f} %",
    "instructions": lambda row: str((row.instruction_mix or {}).get("total", "")),
    "code bytes": lambda row: _number(row.code_bytes),
    "compile ms": lambda row: "" if row.compile_ms is None else f"{row.compile_ms:.0f}",
    "proof": lambda row: row.proof or "",
    "verdict": lambda row: row.verdict or "",
    "median us": _time,
    "why": lambda row: _short(_why(row)),
}


def _value(value: Any) -> str:
    return "" if value is None else str(value)


def _number(number: float | None) -> str:
    return "" if number is None else str(number)
