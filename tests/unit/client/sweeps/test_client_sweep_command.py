"""`tritonc sweep`: axes on the command line, the posted request, and errors before posting."""

import json
from argparse import ArgumentTypeError
from pathlib import Path

import pytest
from tritonc.cli.sweeping.sweep_space import axis_name, split_values

from tests.unit.client.fake_tritond import FakeTritond, run
from tests.unit.client.sweeps.answered_sweeps import ROW, inspection, sweep

LIKE = ["--signature", "x=*fp32", "--target", "cuda:90"]


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

    assert axis_name("BLOCK", facts, "--space") == "constexprs.BLOCK"
    assert axis_name("n", facts, "--space") == "arguments.n"
    assert axis_name("num_warps", facts, "--space") == "options.num_warps"
    assert axis_name("options.BLOCK", facts, "--space") == "options.BLOCK"
    assert axis_name("targets", facts, "--space") == "target"
    with pytest.raises(ArgumentTypeError, match=r"--space BLOK: .* did you mean BLOCK\?"):
        axis_name("BLOK", facts, "--space")


def test_a_request_that_is_wrong_for_all_rows_exits_2_naming_the_flag(
    tritond: FakeTritond, kernel: str, capsys: pytest.CaptureFixture[str]
):
    error = {"pointer": "/options/num_warps", "message": "5 is not one of 1, 2"}
    refused = {"slug": "invalid_request", "title": "Not valid", "errors": [error]}
    tritond.will_answer(inspection(x=False, BLOCK=True))
    for _ in range(2):
        tritond.will_answer(sweep(rows=[ROW | {"state": "refused", "problem": refused}]))

    words = ("--signature", "x=*fp32", "--target", "cuda:90", "--space", "num_warps=5")
    assert run(tritond, "sweep", kernel, *words) == 2

    said = capsys.readouterr().err
    assert said.endswith("tritonc: --space num_warps: 5 is not one of 1, 2\n")


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
        "base": {"source": "import triton\n", "module": "add", "signature": {"x": "*fp32"}},
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


def test_heuristics_get_numbers_given_by_example(tritond: FakeTritond, kernel: str):
    tritond.will_answer(inspection(x=False, K=False))
    for _ in range(2):
        tritond.will_answer(sweep())

    run(
        tritond, "sweep", kernel, "--autotune", "--target", "cuda:90",
        "--like", "x=fp32[4096]", "K=512",
    )  # fmt: skip

    assert tritond.sent(1)["space"] == {"autotune": True, "like": {"K": 512}}
    assert tritond.sent(1)["base"]["signature"] == {"x": "*fp32:16", "K": "i32:16"}


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
        ([], "no variants; give --space"),
        (["--space", "BLOCK=1,,2"], "a value between commas is empty"),
        (["--space", "a.b=1", "a.b=2"], "--space a.b: this axis is given twice"),
        (["--space", "target=cuda:80", "--target", "cuda:80"], "--target gives several targets"),
        (["--space", "a.b=1", "--search", "halving"], "compilations have no times"),
        (["--space", "a.b=1", "--winners", "xml"], "--winners xml: write one of json, triton"),
        (["--space", "a.b=1", "--winners", "json"], "a compilation has no times, so nothing wins"),
        (
            ["--space", "a.b=1", "--winners", "all=no/a.tar"],
            "--winners all=no/a.tar: folder no does not",
        ),
        (["--space", "a.b=1", "--winners", "all=."], "--winners all=.: this is a folder"),
        (["--space", "a.b=1", "--winners", "all", "--csv"], "--csv and --winners all: both"),
        (["--space", "a.b=1", "--csv", "--json"], "--json and --csv: both"),
        (["--space", "a.b=1", "--id", "5eep"], "--id 5eep: this sweep exists already; leave out"),
    ],
)
def test_an_invalid_sweep_is_reported_before_it_is_posted(
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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--limit", "-1"], "argument --limit: -1 is negative"),
        (["--limit", "some"], "argument --limit: 'some' is not a whole number"),
        (["--wait-s", "-1"], "argument --wait-s: -1 is negative"),
        (["--wait-s", "nan"], "argument --wait-s: 'nan' is not a number"),
        (["--budget-s", "inf"], "argument --budget-s: 'inf' is not a number"),
        (["--rtol", "nan"], "argument --rtol: 'nan' is not a number"),
    ],
)
def test_a_number_that_is_none_is_reported_before_anything_is_asked(
    tritond: FakeTritond,
    kernel: str,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
):
    with pytest.raises(SystemExit) as left:
        run(tritond, "sweep", kernel, *LIKE, "--space", "constexprs.B=1", *words)

    assert left.value.code == 2
    assert message in capsys.readouterr().err
    assert tritond.requests == []


def test_winners_of_launches_need_a_search(
    tritond: FakeTritond, kernel: str, capsys: pytest.CaptureFixture[str]
):
    launch = ["--grid", "1", "--argument", "x=fp32[4]", "--space", "arguments.n=1,2"]

    assert run(tritond, "sweep", kernel, *launch, "--winners", "triton-config") == 2
    assert "--winners triton-config: nothing wins without --search" in capsys.readouterr().err
    assert tritond.requests == []


def test_the_service_refuses_a_column_that_is_none_instead_of_the_sweep(
    tritond: FakeTritond, kernel: str, capsys: pytest.CaptureFixture[str]
):
    tritond.will_refuse(422, "invalid_request", detail="'x' is no column", parameter="sort")

    code = run(tritond, "sweep", kernel, *LIKE, "--space", "constexprs.B=1", "--sort", "x")

    said = capsys.readouterr().err
    assert code == 2
    assert [request.url.params["sort"] for request in tritond.requests] == ["x"]
    assert "422 invalid_request: --sort: 'x' is no column" in said
    assert "is there" not in said


def test_a_column_that_is_none_is_reported_before_a_sweep_is_waited_for(
    tritond: FakeTritond, capsys: pytest.CaptureFixture[str]
):
    tritond.will_refuse(422, "invalid_request", detail="'x' is no column", parameter="sort")

    assert run(tritond, "sweep", "--id", "5eep", "--sort", "x") == 2
    assert [request.url.params["sort"] for request in tritond.requests] == ["x"]
    assert "422 invalid_request: --sort: 'x' is no column" in capsys.readouterr().err


def test_a_word_of_two_kernels_is_of_neither(
    tritond: FakeTritond, kernel: str, capsys: pytest.CaptureFixture[str]
):
    two = [{"name": name, "parameters": [], "calls": []} for name in ("add", "mul")]
    tritond.will_answer({"state": "succeeded", "kernels": two})

    assert run(tritond, "sweep", kernel, *LIKE, "--space", "BLOCK=1,2") == 2
    assert "--space BLOCK: which kernel? add.py has add, mul" in capsys.readouterr().err


def test_csv_and_json_are_the_only_things_on_stdout(
    tritond: FakeTritond, kernel: str, capsys: pytest.CaptureFixture[str]
):
    for _ in range(2):
        tritond.will_answer(sweep())
    tritond.will_send(b"index,registers\n0,32\n", content_type="text/csv")
    run(tritond, "sweep", kernel, *LIKE, "--space", "constexprs.B=1", "--csv")
    as_csv = capsys.readouterr().out
    for _ in range(2):
        tritond.will_answer(sweep())
    run(tritond, "sweep", kernel, *LIKE, "--space", "constexprs.B=1", "--json")

    assert as_csv == "index,registers\n0,32\n"
    assert json.loads(capsys.readouterr().out)["id"] == "5eep"
