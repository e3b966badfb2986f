"""The output of `tritonc gate --json`: every check and every number."""

from typing import Any

from tritonc.gate.cell_numbers import CellNumbers
from tritonc.gate.cells import Cell
from tritonc.gate.gate_judgement import Check, GateJudgement
from tritonc.gate.report_text import shown_path


def judgement_json(judgement: GateJudgement) -> dict[str, Any]:
    """Return the document."""
    cells = sorted(judgement.measured, key=lambda cell: cell.key)
    return {
        "good": judgement.is_good,
        "summary": judgement.sentence(),
        "checks": [_check(check) for check in judgement.checks],
        "cells": [_cell(cell, judgement.measured[cell]) for cell in cells],
        "missing": [_key(*key) for key in judgement.missing],
    }


def _check(check: Check) -> dict[str, Any]:
    return {
        **_key(*check.cell.key),
        "metric": check.metric,
        "state": check.state,
        "told": check.summary,
        "value": check.value,
        "reference": check.reference_value,
        "file": shown_path(check.path),
        "line": check.line,
        "lines": [
            {
                "file": shown_path(growth.path),
                "line": growth.line,
                "text": growth.text,
                "class": growth.kind or None,
                "before": growth.before,
                "now": growth.now,
            }
            for growth in check.lines
        ],
    }


def _cell(cell: Cell, measured: CellNumbers) -> dict[str, Any]:
    return {
        **_key(*cell.key),
        "failure": measured.failure,
        "metrics": dict(sorted(measured.metrics.items())),
        "intervals": {name: list(bounds) for name, bounds in measured.intervals.items()},
        "ptx": measured.ptx,
        "device": measured.device,
        "url": measured.url,
    }


def _key(name: str, target: str, triton: str) -> dict[str, str]:
    return {"kernel": name, "target": target, "triton": triton}
