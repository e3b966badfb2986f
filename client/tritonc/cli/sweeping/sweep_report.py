"""The display of a sweep: a table with a row for each variant, its progress, its winners."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tritonc.cli.terminal import TextTable
from tritonc.sweeps.sweep import Sweep
from tritonc.sweeps.sweep_row import SweepRow, short_names, sweep_cells

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import Progress


def sweep_table(sweep: Sweep, rows: Sequence[SweepRow]) -> TextTable:
    """Return the rows as a table, winners marked."""
    heads, cells = sweep_cells(sweep.axes, rows, sweep.won)
    return TextTable(heads, cells)


def closing_lines(sweep: Sweep) -> list[str]:
    """Return the winners, and notes on the sweep as a whole."""
    counts = ", ".join(f"{count} {state}" for state, count in sweep.counts.items())
    pruned = ", ".join(f"{count} {reason}" for reason, count in sweep.pruned.items())
    return [
        *(_winner(winner) for winner in sweep.winners),
        *([f"not run: {pruned}"] if pruned else []),
        *(["note: the time budget ended before all was done"] if sweep.budget_ended else []),
        *(f"note: assumed, line {item['line']}: {item['message']}" for item in sweep.assumptions),
        *([f"note: {sweep.note}"] if sweep.note else []),
        *([f"error: {sweep.problem}"] if sweep.problem else []),
        f"sweep {sweep.id}: {sweep.state}, {counts or 'no rows'}",
    ]


def live_view(sweep: Sweep, bar: "Progress") -> "RenderableType":
    """Return the display of a running sweep: the finished rows and a progress bar."""
    from rich.console import Group

    over = [row for row in sweep.rows if row.finished]
    return Group(sweep_table(sweep, over).drawn(), bar) if over else Group(bar)


def _winner(winner: Mapping[str, Any]) -> str:
    size = winner.get("problem_size")
    where = f"{f'for {size} ' if size else ''}on {winner.get('target', 'this target')}"
    if winner.get("variant") is None:
        return f"no winner {where}: {winner.get('note') or 'nothing was timed'}"
    values = winner.get("values") or {}
    axes = " ".join(
        f"{short}={value}"
        for short, value in zip(short_names(values), values.values(), strict=True)
    )
    median_us, lead = winner.get("median_us"), winner.get("lead") or {}
    parts = [f"fastest {where}: #{winner['variant']} {axes}"]
    parts += [f"{median_us:.4g} us"] if median_us is not None else []
    if lead:
        low, high = lead.get("interval_percent") or ("?", "?")
        ahead = f"{lead.get('percent'):.3g} % before #{lead.get('over')} ({low:.3g} to {high:.3g})"
        parts.append(ahead if lead.get("clear") else f"{ahead}, possibly a tie")
    parts += [] if winner.get("verified") else ["not verified: there is no reference"]
    return ", ".join(parts) + (f"; {winner['note']}" if winner.get("note") else "")
