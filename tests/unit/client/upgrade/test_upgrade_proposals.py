"""The settings that are tried instead of a kernel's own."""

from __future__ import annotations

import difflib
from dataclasses import replace

import pytest
from tritonc.gate.cell_numbers import CellNumbers
from tritonc.gate.cells import Cell
from tritonc.gate.gated_kernel import BudgetTable, GatedKernel
from tritonc.gate.source_lines import SourceLines
from tritonc.upgrade.proposals import patch, proposals


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


HEAD = "# tritonc: BLOCK=64 x=*fp32\n"
KERNEL = "@triton.jit\ndef k(x):\n    pass\n"


def patch_of(cell: Cell, source: str) -> str:
    members = cell.kernel.members | {"source": source, "kernel": "k"}
    numbers = CellNumbers({"registers": 32}, settings={})
    proposal = next(proposals(replace(cell, kernel=replace(cell.kernel, members=members)), numbers))
    return patch(proposal)


@pytest.mark.parametrize(
    ("source", "changed"),
    [
        (HEAD + KERNEL, "# tritonc: BLOCK=32 x=*fp32\n" + KERNEL),
        ("# tritonc: x=*fp32\n" + KERNEL, "# tritonc: x=*fp32 BLOCK=32\n" + KERNEL),
        (KERNEL, "# tritonc: BLOCK=32\n" + KERNEL),
        ("import triton\n\n\n" + KERNEL, "import triton\n\n\n# tritonc: BLOCK=32\n" + KERNEL),
        (f"if 1:\n    {HEAD}    @triton.jit\n    def k(x): ...\n", None),
    ],
)
def test_a_patch_is_a_unified_diff(cell: Cell, source: str, changed: str | None):
    changed = changed or source.replace("BLOCK=64", "BLOCK=32")
    name = str(cell.kernel.path).lstrip("/")
    before, after = (text.splitlines(keepends=True) for text in (source, changed))
    expected = difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", n=2)
    assert patch_of(cell, source) == "".join(expected)


def test_a_patch_compares_no_lines(cell: Cell, monkeypatch: pytest.MonkeyPatch):
    """Comparing a hostile source's many equal lines takes time that grows with their square."""
    monkeypatch.setattr(difflib, "SequenceMatcher", None)
    lines = "".join(f"'{n % 100}'\n" for n in range(60_000))
    assert "+# tritonc: BLOCK=32\n" in patch_of(cell, lines + KERNEL + lines)
