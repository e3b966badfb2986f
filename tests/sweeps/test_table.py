"""The table of a sweep: filters, order, and CSV for spreadsheets."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from sweeps.table import TableQuery, WrongQuery, as_csv, page_of

AXES = ["constexprs.BLOCK", "target"]


def row(index: int, block: Any, target: Any, **known: Any) -> dict[str, Any]:
    values = {"constexprs.BLOCK": block, "target": target}
    return {"index": index, "values": values, "state": "succeeded"} | known


ROWS = [
    row(0, 64, "cuda:80", registers=30),
    row(1, 128, "cuda:90", registers=None, state="failed"),
    row(2, 128, "cuda:80", registers=40),
    row(3, "=cmd", "cuda:90", registers=-1),
]


def indices(**query: Any) -> list[int]:
    return [each["index"] for each in page_of(ROWS, TableQuery(**query), AXES).rows]


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("registers", [3, 0, 2, 1]),
        ("-registers", [2, 0, 3, 1]),
        ("-constexprs.BLOCK,index", [3, 1, 2, 0]),
        ("target,-index", [2, 0, 3, 1]),
    ],
)
def test_rows_are_sorted_and_what_is_not_known_is_last(sort: str, order: list[int]) -> None:
    assert indices(sort=sort) == order


def test_rows_are_filtered_by_axes_and_fields() -> None:
    assert indices(only={"constexprs.BLOCK": ["128"]}) == [1, 2]
    assert indices(only={"constexprs.BLOCK": ["128", "64"], "state": ["succeeded"]}) == [0, 2]
    assert indices(only={"target": ["cuda:90"]}) == [1, 3]


def test_a_page_says_how_many_there_are_on_all() -> None:
    page = page_of(ROWS, TableQuery(offset=1, limit=2), AXES)

    assert ([each["index"] for each in page.rows], page.matched) == ([1, 2], 4)


def test_a_column_that_there_is_not_is_named() -> None:
    with pytest.raises(
        WrongQuery, match=r"'registrs' is not a column.*Did you mean `registers`"
    ) as at:
        indices(sort="registrs")
    assert at.value.parameter == "sort"


def test_no_cell_of_the_csv_is_a_formula() -> None:
    hostile = row(0, "=cmd|' /C calc'!A0", "+1", problem={"detail": "@SUM(1)"}, registers=-1)
    table = list(csv.reader(io.StringIO(as_csv([hostile], ["constexprs.BLOCK", "target"]))))

    cells = dict(zip(table[0], table[1], strict=True))
    assert cells["constexprs.BLOCK"] == "'=cmd|' /C calc'!A0"
    assert (cells["target"], cells["problem"]) == ("'+1", "'@SUM(1)")
    assert cells["registers"] == "-1"


def test_the_csv_says_why_a_verdict_is_what_it_is() -> None:
    wrong = row(0, 64, "cuda:90", verdict="mismatch", reason="y: 3 of 8 elements differ")

    [read] = csv.DictReader(io.StringIO(as_csv([wrong], AXES)))

    assert (read["verdict"], read["reason"]) == ("mismatch", "y: 3 of 8 elements differ")


@pytest.mark.parametrize("first", ["=", "\t=", "\n=", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
def test_a_cell_like_a_formula_is_quoted(first: str) -> None:
    table = list(csv.reader(io.StringIO(as_csv([row(0, f"{first}1", "a")], AXES), newline="")))

    assert f"'{first}1" in table[1]


def test_instructions_are_a_column_for_each_class() -> None:
    mixed = row(0, 1, "a", instruction_mix={"total": 9, "by_class": {"memory": 4}})
    table = list(csv.reader(io.StringIO(as_csv([mixed], AXES))))

    assert dict(zip(table[0], table[1], strict=True))["instructions.memory"] == "4"
