"""A sweep as it is shown: a table with a row for each variant, its progress, its winners."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tritonc.cli.terminal import TextTable
from tritonc.sweep import Sweep, SweepRow

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import Progress

Cell = Callable[[SweepRow], str]
_EXPECTED = frozenset({"succeeded", "completed"})
_MOST_CHARS = 100  # of why a variant is not good; --json has all of it


def _spilled(row: SweepRow) -> str:
    known = [n for n in (row.spill_store_bytes, row.spill_load_bytes) if n is not None]
    return str(sum(known)) if known else ""


def _occupancy(row: SweepRow) -> str:
    return "" if row.occupancy is None else f"{100 * row.occupancy:.0f} %"


def _time(row: SweepRow) -> str:
    if row.median_us is None:
        return ""
    interval = row.interval_us
    return f"{row.median_us:.4g}" + (f" ({interval[0]:.4g}-{interval[1]:.4g})" if interval else "")


def _instructions(row: SweepRow) -> str:
    return str((row.instruction_mix or {}).get("total", ""))


def _why(row: SweepRow) -> str:
    if row.pruned:
        return str(row.pruned.get("detail") or row.pruned.get("reason") or "")
    if row.problem is None:
        return ""
    faults = [f"{f.pointer.rpartition('/')[2]}: {f.message}" for f in row.problem.errors]
    return "; ".join(faults) or row.problem.detail or row.problem.title


def _short(text: str) -> str:
    return text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]}…"


_CELLS: Mapping[str, Cell] = {
    "registers": lambda row: _number(row.registers),
    "spilled bytes": _spilled,
    "shared bytes": lambda row: _number(row.shared_bytes),
    "occupancy": _occupancy,
    "instructions": _instructions,
    "code bytes": lambda row: _number(row.code_bytes),
    "compile ms": lambda row: "" if row.compile_ms is None else f"{row.compile_ms:.0f}",
    "verdict": lambda row: row.verdict or "",
    "median us": _time,
    "why": lambda row: _short(_why(row)),
}


def sweep_table(sweep: Sweep, rows: Sequence[SweepRow]) -> TextTable:
    """Return the rows as a table, winners marked, without the columns that would say nothing."""
    won = {winner.get("variant") for winner in sweep.winners}
    shown = {name: [cell(row) for row in rows] for name, cell in _CELLS.items()}
    shown = {name: cells for name, cells in shown.items() if any(cells)}
    is_told = any(row.state not in _EXPECTED for row in rows)
    heads = ["#", *short_names(sweep.axes), *(["state"] if is_told else []), *shown]
    written = [
        [
            f"{row.index}{' *' if row.index in won else ''}",
            *(_value(row.values.get(axis)) for axis in sweep.axes),
            *([row.state] if is_told else []),
            *(cells[at] for cells in shown.values()),
        ]
        for at, row in enumerate(rows)
    ]
    return TextTable(heads, written)


def short_names(axes: Iterable[str]) -> list[str]:
    """Return the names of axes without their group, where no two are the same then."""
    names = list(axes)
    shorts = [name.partition(".")[2] or name for name in names]
    return [
        short if shorts.count(short) == 1 else name
        for name, short in zip(names, shorts, strict=True)
    ]


def closing_lines(sweep: Sweep) -> list[str]:
    """Return the winners, and what there is to say of the sweep as a whole."""
    counts = ", ".join(f"{count} {state}" for state, count in sweep.counts.items())
    pruned = ", ".join(f"{count} {reason}" for reason, count in sweep.pruned.items())
    return [
        *(_winner(winner) for winner in sweep.winners),
        *([f"not run: {pruned}"] if pruned else []),
        *([f"note: {sweep.note}"] if sweep.note else []),
        *([f"error: {sweep.problem}"] if sweep.problem else []),
        f"sweep {sweep.id}: {sweep.state}, {counts or 'no rows'}",
    ]


def live_view(sweep: Sweep, bar: "Progress") -> "RenderableType":
    """Return what is drawn while a sweep goes on: the rows that are over, and a bar."""
    from rich.console import Group

    over = [row for row in sweep.rows if row.finished]
    return Group(sweep_table(sweep, over).drawn(), bar) if over else Group(bar)


def _winner(winner: Mapping[str, Any]) -> str:
    size = winner.get("problem_size")
    where = f"{f'for {size} ' if size else ''}on {winner.get('target', 'this target')}"
    if winner.get("variant") is None:
        return f"no winner {where}: {winner.get('note') or 'nothing was timed'}"
    values = winner.get("values") or {}
    said = " ".join(
        f"{short}={_value(value)}"
        for short, value in zip(short_names(values), values.values(), strict=True)
    )
    median_us, lead = winner.get("median_us"), winner.get("lead") or {}
    parts = [f"fastest {where}: #{winner['variant']} {said}"]
    parts += [f"{median_us:.4g} us"] if median_us is not None else []
    if lead:
        low, high = lead.get("interval_percent") or ("?", "?")
        ahead = f"{lead.get('percent'):.3g} % before #{lead.get('over')} ({low:.3g} to {high:.3g})"
        parts.append(ahead if lead.get("clear") else f"{ahead}, which may be as fast")
    parts += [] if winner.get("verified") else ["not verified: there is no reference"]
    return ", ".join(parts) + (f"; {winner['note']}" if winner.get("note") else "")


def _value(value: Any) -> str:
    return "" if value is None else str(value)


def _number(number: float | None) -> str:
    return "" if number is None else str(number)
