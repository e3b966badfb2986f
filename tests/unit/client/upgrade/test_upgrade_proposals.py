"""The settings that are tried instead of a kernel's own."""

from __future__ import annotations

import pytest
from tritonc.gate.cell_numbers import CellNumbers
from tritonc.gate.cells import Cell
from tritonc.gate.gated_kernel import BudgetTable, GatedKernel
from tritonc.gate.source_lines import SourceLines
from tritonc.upgrade.proposals import proposals


@pytest.fixture
def cell(tmp_path) -> Cell:
    lines = SourceLines(tmp_path / "k.py", {}, {})
    members = {"constexprs": {"BLOCK": 64, "ODD": 3}}
    kernel = GatedKernel("k", "k", tmp_path, members, lines, None, (), (), BudgetTable())
    return Cell(kernel, "cuda:90", "3.9.0", {})


def tried(cell: Cell, registers: int, **settings: int | None) -> list[str]:
    numbers = CellNumbers({"registers": registers}, settings=settings)
    return [str(one) for one in proposals(cell, numbers)]


def test_warps_stages_and_blocks_are_tried(cell: Cell):
    assert tried(cell, 32, num_warps=8, num_stages=1) == [
        "num_warps 8 -> 16",
        "num_warps 8 -> 4",
        "num_stages 1 -> 2",
        "BLOCK 64 -> 32",
        "BLOCK 64 -> 16",
    ]


def test_fewer_registers_are_tried_and_no_limit_where_there_is_one(cell: Cell):
    assert tried(cell, 200, maxnreg=None)[:2] == ["maxnreg None -> 168", "maxnreg None -> 128"]
    assert tried(cell, 40, maxnreg=40)[:2] == ["maxnreg 40 -> None", "maxnreg 40 -> 32"]
