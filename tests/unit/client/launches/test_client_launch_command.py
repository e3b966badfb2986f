"""`tritonc launch`, `tritonc inspect`, and commands for derived artifacts."""

import io
import json
import os
from argparse import ArgumentTypeError
from pathlib import Path

import numpy as np
import pytest
from tritonc.cli.argument_syntax import launch_argument

from tests.unit.client.fake_tritond import KEY, OUT_OF_BOUNDS, FakeTritond, launch, output, run

ON_THE_CPU = ["--device", "cpu", "--grid", "1"]


def test_launch_posts_what_the_flags_say(tritond: FakeTritond, kernel: str):
    tritond.will_answer(launch())
    Path("ref.py").write_text("def reference(x, **_): return x\n")

    code = run(
        tritond, "launch", kernel, "--device", "cpu", "--grid", "cdiv(n, B)", "2",
        "--constexpr", "B=64", "--argument", "x=fp32[8,4]:uniform(seed=1)", "z=fp32[8,4]:output",
        "--arg", "n=8", "--reference", "ref.py", "--rtol", "0.01", "--return", "z=values",
        "--check", "racecheck", "--timeout-s", "5",
    )  # fmt: skip

    assert code == 0
    assert tritond.posted == {
        "compilation": {
            "source": "import triton\n",
            "module": "add",
            "constexprs": {"B": 64},
        },
        "device": "cpu",
        "grid": ["cdiv(n, B)", 2],
        "arguments": {
            "x": {"shape": [8, 4], "dtype": "fp32", "init": {"kind": "uniform", "seed": 1}},
            "z": {"shape": [8, 4], "dtype": "fp32", "output": True},
            "n": 8,
        },
        "reference": {"source": "def reference(x, **_): return x\n", "rtol": 0.01},
        "return": {"z": "values"},
        "checks": ["racecheck"],
        "timeout_s": 5.0,
    }


def test_a_problem_in_the_report_is_not_repeated_after_it(
    tritond: FakeTritond, kernel: str, capsys: pytest.CaptureFixture[str]
):
    problem = {"slug": "missing_argument", "title": "Missing", "detail": "`n` has no argument"}
    tritond.will_answer(launch(state="failed", verdict=None, problem=problem))

    assert run(tritond, "launch", kernel, "--device", "cpu", "--grid", "1") == 2

    said = capsys.readouterr()
    assert said.out.count("`n` has no argument") == 1
    assert said.err.splitlines()[-1] == "tritonc: change --argument"


@pytest.mark.parametrize("device", ["cpu", "gpu", "interpreter"])
def test_a_device_is_passed_on_by_its_name(tritond: FakeTritond, kernel: str, device: str):
    tritond.will_answer(launch())

    run(tritond, "launch", kernel, "--device", device, "--grid", "1")

    assert tritond.posted["device"] == device


def test_a_program_is_stepped_through_into_a_file(tritond: FakeTritond, kernel: str):
    trace = {"accesses": [], "truncated": False, "steps": [], "steps_truncated": False}
    tritond.will_answer(launch())
    tritond.will_answer(trace)

    assert run(tritond, "launch", kernel, *ON_THE_CPU, "--step", "1,0=steps.json") == 0

    posted = json.loads(tritond.requests[0].content)
    assert posted["trace"] == {"programs": [[1, 0]], "values": True}
    assert json.loads(Path("steps.json").read_text()) == trace


def test_only_a_program_instance_can_be_stepped_through(tritond: FakeTritond, kernel: str):
    assert run(tritond, "launch", kernel, *ON_THE_CPU, "--step", "first=steps.json") == 2


def test_a_device_is_named_by_its_target_and_timed_if_asked(tritond: FakeTritond, kernel: str):
    tritond.will_answer(launch())

    run(tritond, "launch", kernel, "--device", "cuda:90", "--grid", "1", "--time")

    assert tritond.posted["device"] == {"target": "cuda:90"}
    assert tritond.posted["compilation"]["target"] == "cuda:90"
    assert tritond.posted["timing"] == {}


def test_the_verdict_is_shown_and_decides_the_exit_code(
    tritond: FakeTritond, kernel: str, capsys: pytest.CaptureFixture[str]
):
    bad = launch(verdict="out_of_bounds", findings=[OUT_OF_BOUNDS], stdout="pid 0\n")
    tritond.will_answer(bad)

    assert run(tritond, "launch", kernel, *ON_THE_CPU) == 1

    out, err = capsys.readouterr()
    assert out.startswith("add.py:2: out_of_bounds: program (0, 0, 0) reads x_ptr[1000]")
    assert out.endswith("verdict: out_of_bounds on the CPU device (61 ms)\n")
    assert err == "pid 0\n"


def test_a_launch_that_failed_exits_1(tritond: FakeTritond, kernel: str):
    tritond.will_answer(launch("failed", problem={"slug": "worker_lost", "detail": "gone"}))

    assert run(tritond, "launch", kernel, *ON_THE_CPU) == 1


def test_hot_lines_are_asked_for(tritond: FakeTritond, kernel: str):
    tritond.will_answer(launch(verdict="passed"))

    run(tritond, "launch", kernel, "--device", "cuda:90", "--grid", "1", "--hot-lines")

    assert tritond.posted["profile"] == "lines"


def test_a_seed_to_fuzz_with_asks_for_fuzzing(tritond: FakeTritond, kernel: str):
    tritond.will_answer(launch(verdict="passed"))

    run(tritond, "launch", kernel, "--device", "cuda:90", "--grid", "1", "--fuzz-seed", "7")

    assert (tritond.posted["checks"], tritond.posted["fuzz"]) == (["fuzz"], {"seed": 7})


@pytest.mark.parametrize("text", ["9" * 5000, f"fp32[{'9' * 5000}]", "[" * 100_000])
def test_a_value_beyond_all_numbers_is_reported_in_part(
    tritond: FakeTritond, kernel: str, capsys: pytest.CaptureFixture[str], text: str
):
    assert run(tritond, "launch", kernel, *ON_THE_CPU, "--argument", f"n={text}") == 2
    said = capsys.readouterr().err
    assert said.startswith(f"tritonc: {text[:40]}… ")
    assert len(said) < 300


@pytest.mark.parametrize("words", [["--save", "z=no/z.npy"], ["--step", "0=no/trace.json"]])
def test_what_cannot_be_written_is_reported_before_anything_is_launched(
    tritond: FakeTritond, kernel: str, capsys: pytest.CaptureFixture[str], words: list[str]
):
    assert run(tritond, "launch", kernel, *ON_THE_CPU, *words) == 2
    assert f"{words[1]}: folder no does not exist" in capsys.readouterr().err
    assert tritond.requests == []


def test_a_launch_not_finished_in_time_exits_4_and_is_found_by_its_id(
    tritond: FakeTritond, kernel: str, capsys: pytest.CaptureFixture[str]
):
    whole = "ab12" * 8
    tritond.will_answer(launch("running", id=whole), status=202)
    tritond.will_answer(launch(id=whole))
    tritond.will_answer(launch("cancelled", id=whole), status=202)

    assert run(tritond, "launch", kernel, *ON_THE_CPU, "--wait-s", "0") == 4
    assert f"ask again for {whole}" in capsys.readouterr().err
    assert run(tritond, "get", whole) == 0
    assert "verdict: passed" in capsys.readouterr().out
    assert run(tritond, "cancel", whole) == 0
    assert [r.method for r in tritond.requests] == ["POST", "GET", "DELETE"]


def test_a_wrong_element_names_the_flag_that_shows_its_line(
    tritond: FakeTritond, kernel: str, capsys: pytest.CaptureFixture[str]
):
    tritond.will_answer(launch(verdict="mismatch", outputs={"z": output(mismatched=1)}))
    tritond.will_answer(launch(outputs={"z": output()}))

    assert run(tritond, "launch", kernel, *ON_THE_CPU) == 1
    assert "--trace PROGRAM lists the lines that store to z[3]: " in capsys.readouterr().err
    assert run(tritond, "launch", kernel, *ON_THE_CPU) == 0
    assert "--trace" not in capsys.readouterr().err


def test_json_is_the_whole_answer_and_nothing_else(
    tritond: FakeTritond, kernel: str, capsys: pytest.CaptureFixture[str]
):
    reported = launch(verdict="mismatch", outputs={"z": output(mismatched=1)})
    tritond.will_answer(reported)

    assert run(tritond, "launch", kernel, *ON_THE_CPU, "--json") == 1
    assert json.loads(capsys.readouterr().out) == reported


def test_an_output_is_saved_to_a_file(tritond: FakeTritond, kernel: str):
    tritond.will_answer(launch(outputs={"z": output()}))
    tritond.will_send(b"\x93NUMPY...")

    assert run(tritond, "launch", kernel, *ON_THE_CPU, "--save", "z=z.npy") == 0

    assert tritond.posted["return"] == {"z": "tensor"}
    assert Path("z.npy").read_bytes() == b"\x93NUMPY..."


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "no kernel; give a FILE"),
        (("add.py",), "no grid; give --grid"),
        (("add.py", "--grid", "1", "--arg", "x=@no.npy"), "No such file"),
        (("add.py", "--grid", "1", "--arg", "x=fp32[4]"), "such as x=fp32[4]:zeros"),
        (
            ("add.py", "--grid", "1", "--arg", "x=@add.py"),
            "add.py: these bytes are not a .npy file",
        ),
        (("add.py", "--request", "add.py"), "add.py: "),
        (("add.py", "--request", "date.toml"), "date.toml: "),
    ],
)
def test_a_launch_that_cannot_be_posted_exits_2_and_says_why(
    tritond: FakeTritond,
    kernel: str,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    said: str,
):
    Path("date.toml").write_text("arguments = {when = 2026-01-01}\n")

    assert run(tritond, "launch", *words) == 2
    assert said in capsys.readouterr().err
    assert tritond.requests == []


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("98432", 98432),
        ("None", None),
        ("fp32[]", {"shape": [], "dtype": "fp32"}),
        ("i64[2, 3]:zeros:output", {"shape": [2, 3], "dtype": "i64", "output": True,
                                    "init": {"kind": "zeros"}}),
        ("bf16[4]:full(-Infinity)", {"shape": [4], "dtype": "bf16",
                                     "init": {"kind": "full", "value": float("-inf")}}),
        ("i32[4]:randint(0, high=9)", {"shape": [4], "dtype": "i32",
                                       "init": {"kind": "randint", "low": 0, "high": 9}}),
        ('{"view": {"of": "x"}}', {"view": {"of": "x"}}),
    ],
)  # fmt: skip
def test_an_argument_is_described_in_few_words(text: str, meant: object):
    assert launch_argument(text) == meant


def test_a_file_is_an_argument_that_may_be_worked_on_in_place(tmp_path: Path):
    file = io.BytesIO()
    np.save(file, np.zeros(3, dtype=np.float32))
    (tmp_path / "x.npy").write_bytes(file.getvalue())

    read, worked_on = (
        launch_argument(f"@{tmp_path}/x.npy"),
        launch_argument(f"@{tmp_path}/x.npy:output"),
    )

    assert (read.shape, read.dtype, read.output) == ((3,), "fp32", False)
    assert worked_on.output


@pytest.mark.parametrize("text", ["fp32[4]:normal(1,2,3)", "fp32[4]:x y"])
def test_a_description_that_means_nothing_is_refused(text: str):
    with pytest.raises(ArgumentTypeError):
        launch_argument(text)


def test_inspect_shows_kernels_as_one_would_write_them(
    tritond: FakeTritond, kernel: str, capsys: pytest.CaptureFixture[str]
):
    block = {"name": "B", "annotation": "tl.constexpr", "constexpr": True}
    parameters = [
        {"name": "x_ptr", "annotation": None, "constexpr": False, "default": None},
        block | {"default": {"literal": 64}},
    ]
    reported = {"name": "add", "parameters": parameters, "calls": ["relu"], "configs": [{"B": 32}]}
    tritond.will_answer({"state": "succeeded", "kernels": [reported], "problem": None})

    assert run(tritond, "inspect", kernel) == 0
    expected = "add(x_ptr, B: constexpr = 64)\n  calls: relu\n  config: {'B': 32}\n"
    assert capsys.readouterr().out == expected


def test_a_source_that_cannot_be_read_exits_1(
    tritond: FakeTritond, kernel: str, capsys: pytest.CaptureFixture[str]
):
    note = {"severity": "error", "message": "invalid syntax", "file": "user.py", "line": 3}
    problem = {"slug": "syntax_error", "detail": "invalid syntax"}
    tritond.will_answer({"kernels": None, "problem": problem, "diagnostics": [note]})

    assert run(tritond, "inspect", kernel) == 1
    assert capsys.readouterr().err == "add.py:3: error: invalid syntax\n"


def test_a_reader_who_has_seen_enough_is_no_error(
    tritond: FakeTritond, monkeypatch: pytest.MonkeyPatch
):
    tritond.will_answer({"devices": []})
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as closed:
        monkeypatch.setattr("sys.stdout", closed)

        assert run(tritond, "devices") == 0


def test_what_is_derived_goes_to_standard_output(
    tritond: FakeTritond, capfdbinary: pytest.CaptureFixture[bytes]
):
    tritond.will_send(b"MOV R1\n")
    tritond.will_send(b"import numpy as np\n")
    tritond.will_send(b"/* c */\n")
    tritond.will_answer({"lines": []})
    tritond.will_answer({"total": 52})
    tritond.will_answer({"devices": []})

    codes = [
        run(tritond, "sass", KEY),
        run(tritond, "numpy", KEY),
        run(tritond, "export", KEY, "c"),
        run(tritond, "lines", KEY, "--json"),
        run(tritond, "instructions", KEY, "--json"),
        run(tritond, "devices", "--json"),
    ]

    assert codes == [0] * 6
    out = capfdbinary.readouterr().out
    assert out.startswith(b"MOV R1\nimport numpy as np\n/* c */\n")
    assert b'"lines": []' in out
    assert b'"total": 52' in out


@pytest.mark.parametrize(
    ("words", "checks"),
    [
        ("--device cpu", ["racecheck"]),
        ("", ["racecheck"]),
        ("--target cuda:90 --trace", ["racecheck"]),  # only the CPU device can trace
        ("--device cpu --check determinism", ["determinism"]),
        ("--device cpu --check none", []),
        ("--device cpu --fuzz-seed 1", ["fuzz"]),
        ("--device cpu --request checks.json", []),
        ("--device cpu --time", None),
        ("--device gpu --target cuda:90", None),
        ("--device cuda:90", None),
        ("--target cuda:90", None),
    ],
)
def test_races_are_checked_on_the_cpu_device_unless_checks_are_named(
    tritond: FakeTritond, kernel: str, words: str, checks: list[str] | None
):
    Path("checks.json").write_text('{"checks": []}')
    tritond.will_answer(launch(verdict="race"))
    tritond.will_answer({"accesses": [], "truncated": False})

    run(tritond, "launch", kernel, "--grid", "1", *words.split())

    assert json.loads(tritond.requests[0].content).get("checks") == checks


def test_a_launch_too_slow_for_the_check_for_races_runs_without(
    tritond: FakeTritond, kernel: str, capsys: pytest.CaptureFixture[str]
):
    tritond.will_answer(launch(verdict="timeout", counts={"timeout": 1}))
    tritond.will_answer(launch(verdict="passed"))

    assert run(tritond, "launch", kernel, *ON_THE_CPU) == 0
    posted = [json.loads(request.content) for request in tritond.requests]
    assert [body.get("checks") for body in posted] == [["racecheck"], None]
    assert capsys.readouterr().err == (
        "races were not checked: with this check, the launch ended as timeout; "
        "launch a smaller grid\n"
    )


def test_a_race_in_one_case_is_kept_where_another_was_too_slow(tritond: FakeTritond, kernel: str):
    tritond.will_answer(launch(verdict="timeout", counts={"timeout": 1, "race": 1}))

    assert run(tritond, "launch", kernel, *ON_THE_CPU) == 1
    assert len(tritond.requests) == 1


def test_none_is_the_only_check(
    tritond: FakeTritond, kernel: str, capsys: pytest.CaptureFixture[str]
):
    assert run(tritond, "launch", kernel, *ON_THE_CPU, "--check", "none", "fuzz") == 2
    assert "--check none: leave out `none`, or the other checks" in capsys.readouterr().err


@pytest.mark.parametrize("verdict", ["passed", "not_checked"])
@pytest.mark.parametrize(
    ("words", "remark"),
    [
        (("--check", "none"), "races were not checked: add --check racecheck\n"),
        (("--check", "fuzz"), "races were not checked: add --check racecheck\n"),
        ((), ""),
    ],
)
def test_a_launch_that_passed_without_a_check_for_races_is_remarked_on(
    tritond: FakeTritond,
    kernel: str,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    remark: str,
    verdict: str,
):
    tritond.will_answer(launch(verdict=verdict))

    assert run(tritond, "launch", kernel, *ON_THE_CPU, *words) == 0
    assert capsys.readouterr().err == remark


def test_a_launch_that_the_cpu_device_did_not_time_is_remarked_on(
    tritond: FakeTritond, kernel: str, capsys: pytest.CaptureFixture[str]
):
    tritond.will_answer(launch())

    run(tritond, "launch", kernel, *ON_THE_CPU, "--time")

    assert "not timed: the CPU device does not time" in capsys.readouterr().err
