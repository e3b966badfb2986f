"""The result in Markdown, for a job summary: first the broken budgets, then all numbers."""

from collections.abc import Iterable, Sequence

from tritonc.gate.cell_numbers import CellNumbers
from tritonc.gate.cells import Cell
from tritonc.gate.gate_judgement import Check, GateJudgement
from tritonc.gate.metric_budget import number
from tritonc.gate.report_text import markdown_text, shown_path

MAX_ROWS = 300  # a job summary is limited to 1 MiB
NUMBERS = (
    "registers", "spill_bytes", "spilled_registers", "spilled_sgprs", "shared_bytes", "occupancy",
    "instructions", "code_bytes", "median_us",
)  # fmt: skip


def markdown_report(judgement: GateJudgement) -> str:
    """Return the report."""
    outcome = "passed" if judgement.is_good else "**failed**"
    parts = [f"## tritonc gate: {outcome}", f"{judgement.sentence()}."]
    if judgement.bad:
        parts.append(_checks("Broken", judgement.bad))
    if judgement.unjudged:
        parts.append(_checks("Not judged", judgement.unjudged))
    if judgement.missing:
        rows = [[markdown_text(part) for part in key] for key in judgement.missing]
        parts += ["### In the baseline only", _table(["kernel", "target", "Triton"], rows)]
    parts.append(_measured(judgement))
    return "\n\n".join(parts) + "\n"


def _checks(title: str, checks: Sequence[Check]) -> str:
    columns = ["kernel", "target", "Triton", "budget", "found", "where"]
    return f"### {title}\n\n" + _table(columns, (_row(check) for check in checks))


def _row(check: Check) -> list[str]:
    where = [f"{shown_path(check.path)}:{check.line}"] if not check.lines else []
    where += map(str, check.lines)
    cells = [*check.cell.key, check.metric, check.summary]
    return [*map(markdown_text, cells), "<br>".join(map(markdown_text, where))]


def _measured(judgement: GateJudgement) -> str:
    columns = ["kernel", "target", "Triton", *NUMBERS]
    rows = (
        _numbers(cell, judgement.measured[cell])
        for cell in sorted(judgement.measured, key=lambda cell: cell.key)
    )
    table = _table(columns, rows)
    return f"<details><summary>Measurements</summary>\n\n{table}\n\n</details>"


def _numbers(cell: Cell, measured: CellNumbers) -> list[str]:
    values = [measured.metrics.get(name) for name in NUMBERS]
    return [*map(markdown_text, cell.key), *("" if v is None else number(v) for v in values)]


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}"]
    every = list(rows)
    lines += [f"| {' | '.join(row)} |" for row in every[:MAX_ROWS]]
    if len(every) > MAX_ROWS:
        lines.append(f"\n... and {len(every) - MAX_ROWS} more")
    return "\n".join(lines)
