"""The table of a sweep, and the lines below it."""

from tritonc.cli.sweeping.sweep_report import closing_lines, short_names, sweep_table
from tritonc.sweeps.sweep import Sweep

from tests.unit.client.sweeps.answered_sweeps import ROW, sweep


def test_names_are_short_where_they_differ():
    assert short_names(["constexprs.N", "options.N", "target"]) == [
        "constexprs.N",
        "options.N",
        "target",
    ]
    assert short_names(["constexprs.N", "options.num_warps"]) == ["N", "num_warps"]


def test_a_table_has_no_columns_that_say_nothing():
    table = sweep_table(read := Sweep.from_json(sweep()), read.rows)

    assert table.columns == ["#", "BLOCK", "target", "registers", "occupancy"]
    assert table.plain().splitlines()[1] == "0     64  cuda:90         32       50 %"


def test_a_variant_that_fails_is_a_row_that_says_why():
    problem = {
        "slug": "invalid_request",
        "detail": "/options/num_warps: 3 is not one of 1, 2, 4",
        "errors": [{"pointer": "/options/num_warps", "message": "3 is not one of 1, 2, 4"}],
    }
    refused = ROW | {"index": 1, "state": "refused", "registers": None, "problem": problem}
    read = Sweep.from_json(sweep(rows=[ROW, refused]))

    row = sweep_table(read, read.rows).plain().splitlines()[2]

    assert "refused" in row
    assert row.endswith("num_warps: 3 is not one of 1, 2, 4")
    assert [one.good for one in read.rows] == [True, False]


def test_a_verdict_that_is_not_good_has_its_reason_in_the_table():
    wrong = ROW | {"state": "completed", "verdict": "mismatch", "reason": "y: 3 of 8 differ"}
    read = Sweep.from_json(sweep(kind="launches", rows=[wrong]))

    assert read.rows[0].reason == "y: 3 of 8 differ"
    assert sweep_table(read, read.rows).plain().endswith("mismatch  y: 3 of 8 differ")


def test_winners_are_reported_with_their_lead():
    lead = {"over": 4, "percent": 5.0, "interval_percent": [3.0, 7.0], "clear": True, "passes": 6}
    winner = {
        "problem_size": "large",
        "target": "cuda:90",
        "variant": 0,
        "values": {"constexprs.BLOCK": 64},
        "median_us": 12.34,
        "verified": True,
        "lead": lead,
    }
    none = {"problem_size": None, "target": "cuda:80", "variant": None, "note": "times are noisy"}

    assumed = [{"file": "user.py", "line": 7, "message": "the pruning hook is left out"}]
    members = {"pruned": {"spills": 2}, "budget_ended": True, "assumptions": assumed}

    lines = closing_lines(Sweep.from_json(sweep(winners=[winner, none], **members)))

    assert lines == [
        "fastest for large on cuda:90: #0 BLOCK=64, 12.34 us, 5 % ahead of #4 (3 to 7)",
        "no winner on cuda:80: times are noisy",
        "not run: 2 spills",
        "note: the time budget ran out before everything was done",
        "note: assumed, line 7: the pruning hook is left out",
        "sweep 5eep: completed, 1 succeeded",
    ]
