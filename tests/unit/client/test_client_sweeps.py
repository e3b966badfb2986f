"""Sweeps: what is posted, what is read, and how the command line says axes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonc
from tritonc import Client
from tritonc.cli.sweeping.sweep_report import closing_lines, short_names, sweep_table
from tritonc.cli.sweeping.sweep_space import axis_name, split_values
from tritonc.sweeps.sweep import Sweep

from tests.unit.client.fake_tritond import FakeTritond, run

ROW = {
    "index": 0,
    "values": {"constexprs.BLOCK": 64, "target": "cuda:90"},
    "state": "succeeded",
    "compilation_key": "ab" * 32,
    "registers": 32,
    "occupancy": 0.5,
}
LIKE = ["--signature", "x=*fp32", "--target", "cuda:90"]


def sweep(state: str = "completed", **members: Any) -> dict[str, Any]:
    """The JSON of a sweep with one row, as the service writes it."""
    return {
        "id": "5eep",
        "url": "/v1/sweeps/5eep",
        "state": state,
        "kind": "compilations",
        "axes": [
            {"name": "constexprs.BLOCK", "values": [64]},
            {"name": "target", "values": ["cuda:90"]},
        ],
        "counts": {"succeeded": 1},
        "total": 1,
        "matched": 1,
        "rows": [ROW],
        "winners": [],
        "pruned": {},
        "note": None,
        "problem": None,
    } | members


def inspection(**parameters: bool) -> dict[str, Any]:
    """What is known of a kernel whose parameters are constexprs or not."""
    facts = [{"name": name, "constexpr": is_it} for name, is_it in parameters.items()]
    return {"state": "succeeded", "kernels": [{"name": "k", "parameters": facts}]}


def test_a_sweep_is_posted_once_and_its_rows_are_typed(client: Client, tritond: FakeTritond):
    tritond.will_answer(sweep("running", rows=[]), status=202)
    tritond.will_answer(sweep(rows=[]))
    tritond.will_answer(sweep())

    base = tritonc.compile_request("source", signature="*fp32", include=["ptx"])
    made = client.sweep(base, {"constexprs.BLOCK": [64]}, where=["BLOCK > 2"], budget_s=3)

    assert tritond.posted == {
        "base": {"source": "source", "signature": "*fp32"},
        "space": {"constexprs.BLOCK": [64]},
        "where": ["BLOCK > 2"],
        "budget_s": 3,
    }
    assert tritond.requests[1].url.params["limit"] == "0"  # waiting needs no rows
    assert (made.finished, made.over, made.axes["target"]) == (True, 1, ("cuda:90",))
    assert (made.rows[0].registers, made.rows[0].good, made.rows[0].median_us) == (32, True, None)


def test_arrays_of_base_and_space_are_uploaded(client: Client, tritond: FakeTritond):
    x = np.zeros(4, np.float32)
    for _ in range(2):
        tritond.will_answer({"digest": "sha256:"}, status=201)
    tritond.will_answer(sweep())
    base = tritonc.launch_request("source", arguments={"x": x}, grid=[1])

    client.sweep(base, {"arguments": {"large": {"x": np.ones(8, np.float32)}}})

    body = tritond.sent(-1)
    assert body["base"]["arguments"]["x"]["shape"] == [4]
    assert body["space"]["arguments"]["large"]["x"]["shape"] == [8]


def test_a_sweep_that_is_not_over_in_time_is_found_by_its_id(client: Client, tritond: FakeTritond):
    tritond.will_answer(sweep("running"), status=202)

    with pytest.raises(tritonc.WaitExpired, match=r"1 of 1 rows are over .* ask again for 5eep"):
        client.sweep({"source": ""}, {"target": ["cuda:90"]}, wait_s=0)


def test_winners_are_waited_for(client: Client, tritond: FakeTritond):
    tritond.will_answer({"state": "queued"}, status=202)
    tritond.will_send(b"[triton.Config({})]")

    assert client.sweeps.winners("5eep", "triton-config") == b"[triton.Config({})]"
    assert tritond.requests[1].url.path == "/v1/sweeps/5eep/winners/triton-config"


def test_winners_that_are_not_made_in_time_say_so(client: Client, tritond: FakeTritond):
    tritond.will_answer({"state": "queued"}, status=202)

    with pytest.raises(tritonc.WaitExpired, match="bundle of the winners is not made yet"):
        client.sweeps.winners("5eep", "bundle", of="all", wait_s=0)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("64,128", ["64", "128"]),
        ('[128],["cdiv(n, B)"]', ["[128]", '["cdiv(n, B)"]']),
        ("'a,b',c", ["'a,b'", "c"]),
        ("64,", ["64", ""]),
        ("]],[", ["]],["]),
    ],
)
def test_values_are_separated_by_commas_outside_of_brackets(text: str, values: list[str]):
    assert list(split_values(text)) == values


def test_a_word_is_the_axis_that_the_kernel_has():
    facts = {"BLOCK": {"constexpr": True}, "n": {"constexpr": False}}

    assert axis_name("BLOCK", facts) == "constexprs.BLOCK"
    assert axis_name("n", facts) == "arguments.n"
    assert axis_name("num_warps", facts) == "options.num_warps"
    assert axis_name("options.BLOCK", facts) == "options.BLOCK"
    assert axis_name("targets", facts) == "target"


def test_names_are_short_where_they_differ():
    assert short_names(["constexprs.N", "options.N", "target"]) == [
        "constexprs.N",
        "options.N",
        "target",
    ]
    assert short_names(["constexprs.N", "options.num_warps"]) == ["N", "num_warps"]


def test_the_command_posts_axes_targets_and_conditions(tritond: FakeTritond, kernel: str):
    tritond.will_answer(inspection(x=False, BLOCK=True))
    for _ in range(2):
        tritond.will_answer(sweep())

    code = run(
        tritond, "sweep", kernel, "--signature", "x=*fp32", "--space", "BLOCK=64,128",
        "--space", "num_warps=2,4", "triton=3.8.0,3.9.0", "--target", "cuda:80,cuda:90",
        "--where", "BLOCK > 32", "--where", "num_warps < 8", "--budget-s", "9",
        "--sort", "-registers",
    )  # fmt: skip

    assert code == 0
    assert tritond.sent(1) == {
        "base": {"source": "import triton\n", "signature": {"x": "*fp32"}},
        "space": {
            "constexprs.BLOCK": [64, 128],
            "options.num_warps": [2, 4],
            "triton": ["3.8.0", "3.9.0"],
            "target": ["cuda:80", "cuda:90"],
        },
        "where": ["BLOCK > 32", "num_warps < 8"],
        "budget_s": 9.0,
    }
    assert tritond.requests[2].url.params["sort"] == "-registers"


def test_arguments_make_it_a_sweep_of_launches(tritond: FakeTritond, kernel: str):
    for _ in range(2):
        tritond.will_answer(sweep(kind="launches"))

    run(
        tritond, "sweep", kernel, "--grid", "1", "--argument", "x=fp32[4]:ones",
        "--space", "arguments.n=1,2", "--search", "halving",
    )  # fmt: skip

    assert tritond.posted["base"]["grid"] == [1]
    assert tritond.posted["space"] == {"arguments.n": [1, 2]}
    assert tritond.posted["search"] == {"kind": "halving"}
    assert tritond.requests[1].url.params["sort"] == "median_us"


def test_a_request_file_has_a_base_and_a_space(tritond: FakeTritond, kernel: str):
    Path("add.toml").write_text(
        'grid = [1]\nwhere = ["n > 1"]\n[arguments]\nx = "fp32[4]:ones"\n'
        '[space.arguments.small]\nx = "fp32[2]:ones"\n[space.arguments.large]\nn = 3\n'
    )
    for _ in range(2):
        tritond.will_answer(sweep(kind="launches"))

    run(tritond, "sweep", kernel, "--request", "add.toml", "--space", "options.num_warps=2,4")

    space = tritond.posted["space"]
    assert tritond.posted["base"]["arguments"]["x"]["shape"] == [4]
    assert space["options.num_warps"] == [2, 4]
    assert space["arguments"]["small"]["x"]["shape"] == [2]
    assert space["arguments"]["large"] == {"n": 3}
    assert tritond.posted["where"] == ["n > 1"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "which variants? give --space"),
        (["--space", "BLOCK=1,,2"], "a value between commas is empty"),
        (["--space", "a.b=1", "a.b=2"], "--space a.b: it is an axis already"),
        (["--space", "target=cuda:80", "--target", "cuda:80"], "--target has several already"),
        (["--space", "a.b=1", "--search", "halving"], "a compilation has no times"),
        (["--space", "a.b=1", "--winners", "xml"], "--winners xml: write one of json, triton"),
    ],
)
def test_what_no_sweep_can_be_is_told_before_anything_is_posted(
    tritond: FakeTritond,
    kernel: str,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
):
    tritond.will_answer(inspection(BLOCK=True))

    assert run(tritond, "sweep", kernel, *LIKE, *words) == 2
    assert message in capsys.readouterr().err
    assert not any(request.url.path == "/v1/sweeps" for request in tritond.requests)


def test_a_column_that_is_none_is_told_with_the_id_of_the_sweep(
    tritond: FakeTritond, kernel: str, capsys: pytest.CaptureFixture[str]
):
    tritond.will_answer(sweep())
    tritond.will_refuse(422, "invalid_request", detail="'x' is no column", parameter="sort")

    code = run(tritond, "sweep", kernel, *LIKE, "--space", "constexprs.B=1", "--sort", "x")

    said = capsys.readouterr().err
    assert code == 2
    assert "sweep 5eep is there: tritonc sweep --id 5eep shows it" in said
    assert "422 invalid_request: --sort: 'x' is no column" in said


def test_a_word_of_two_kernels_is_of_neither(
    tritond: FakeTritond, kernel: str, capsys: pytest.CaptureFixture[str]
):
    two = [{"name": name, "parameters": [], "calls": []} for name in ("add", "mul")]
    tritond.will_answer({"state": "succeeded", "kernels": two})

    assert run(tritond, "sweep", kernel, *LIKE, "--space", "BLOCK=1,2") == 2
    assert "--space BLOCK: of which kernel? add.py has add, mul" in capsys.readouterr().err


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


def test_winners_are_told_with_their_lead():
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
        "fastest for large on cuda:90: #0 BLOCK=64, 12.34 us, 5 % before #4 (3 to 7)",
        "no winner on cuda:80: times are noisy",
        "not run: 2 spills",
        "note: the budget was over before all was done",
        "note: assumed, line 7: the pruning hook is left out",
        "sweep 5eep: completed, 1 succeeded",
    ]


def test_csv_and_json_are_the_only_things_on_stdout(
    tritond: FakeTritond, kernel: str, capsys: pytest.CaptureFixture[str]
):
    tritond.will_answer(sweep())
    tritond.will_send(b"index,registers\n0,32\n", content_type="text/csv")
    tritond.will_answer(sweep())
    run(tritond, "sweep", kernel, *LIKE, "--space", "constexprs.B=1", "--csv")
    as_csv = capsys.readouterr().out
    for _ in range(2):
        tritond.will_answer(sweep())
    run(tritond, "sweep", kernel, *LIKE, "--space", "constexprs.B=1", "--json")

    assert as_csv == "index,registers\n0,32\n"
    assert json.loads(capsys.readouterr().out)["id"] == "5eep"
