"""Habits of other command lines: suggestions, written paths, costs, elided arrays, piped IR."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from tritonc.cli.main import main
from tritonc.diagnostic import Diagnostic

from tests.unit.client.fake_tritond import FakeTritond, compilation, run


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["lunch", "k.py"], "did you mean launch?"),
        (["compile", "k.py", "--target", "cuda:90", "--optoin", "a=1"], "did you mean --option?"),
        (["export", "KEY", "rus"], "did you mean rust?"),
        (["prove", "k.py", "--races"], "did you mean --check races?"),
        (["warm", "k.py", "--", "--steps", "3"], "tritonc warm passes no arguments to FILE"),
        (["prove", "k.py", "--target", "h100", "a100"], "tritonc prove takes one target"),
        (["list", "--limit", "2**31"], "'2**31' is not a whole number from 1 to 1,000"),
    ],
)
def test_a_mistyped_command_flag_or_choice_gets_a_suggestion(
    tritond: FakeTritond, capsys: pytest.CaptureFixture[str], words: list[str], meant: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        run(tritond, *words)

    assert ended.value.code == 2
    assert meant in capsys.readouterr().err


def test_a_largest_size_is_written_in_digits(
    tritond: FakeTritond, kernel: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tritond.will_answer({"kernels": []})

    words = ("--signature", "*fp32", "--limit", "size=2**31")
    assert run(tritond, "prove", kernel, *words) == 2

    message = "--limit size: '2**31' is not a number; write its digits: size=2147483648"
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("words", [("prove", "k.py", "--trac"), ("launch", "k.py", "-o", "out")])
def test_a_flag_of_another_command_is_not_suggested(
    tritond: FakeTritond, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    with pytest.raises(SystemExit):
        run(tritond, *words)

    err = capsys.readouterr().err
    assert err.startswith(f"usage: tritonc {words[0]} ")
    assert not re.search("did you mean (--trace|-o)", err)


def test_emitted_files_and_costs_are_reported(
    tritond: FakeTritond, kernel: str, capsys: pytest.CaptureFixture[str]
) -> None:
    resources = {
        "registers": 255,
        "spill_store_bytes": 8,
        "spill_load_bytes": 12,
        "occupancy": {"ratio": 0.125, "limited_by": "registers"},
    }
    tritond.will_answer(compilation(included={"ptx": "//"}, resources=resources))
    words = ("--signature", "*fp32", "--emit", "ptx")

    assert run(tritond, "compile", kernel, "--target", "cuda:90", *words) == 0

    lines = capsys.readouterr().err.splitlines()
    assert lines[-3:] == [
        "spills: 8 bytes stored, 12 bytes loaded by each thread",
        "occupancy 12%, limited by registers",
        "wrote add.ptx (ptx)",
    ]


def test_ir_on_standard_input_is_recognised(
    tritond: FakeTritond, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = '#loc = loc("k.py":1:0)\nmodule {\n}\n'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    tritond.will_answer(compilation())

    assert run(tritond, "compile", "-", "--target", "cuda:90") == 0
    assert tritond.posted["ir"] == {"language": "ttir", "text": text, "canonicalize": False}


def test_watch_shows_an_error_once_for_all_targets(
    tritond: FakeTritond,
    kernel: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = {"slug": "compile_error", "title": "It does not compile", "status": None}
    broken: Any = {"severity": "error", "stage": "frontend", "message": "no such name"}
    for _ in range(2):
        tritond.will_answer(compilation("failed", problem=problem, diagnostics=[broken]))
    monkeypatch.setattr("tritonc.cli.compiling.watch_command._wait_for_save", _stop)

    words = ("--target", "cuda:80,cuda:90", "--signature", "*fp32")
    assert run(tritond, "watch", kernel, *words) == 0

    assert capsys.readouterr().out.count("no such name") == 1


def _stop(*_: Any) -> None:
    raise KeyboardInterrupt


def test_long_outputs_are_elided_as_numpy_does() -> None:
    from tritonc.cli.launching.launch_report import _output
    from tritonc.launch_run import Output

    output = Output(summary={"dtype": "fp32", "shape": [2, 600]}, values=[list(range(600))] * 2)

    row = "   [0, 1, 2, ..., 597, 598, 599]"
    assert list(_output("z", output)) == ["z: fp32[2, 600]", "  [", row, row, "  ]"]


def test_short_outputs_are_whole() -> None:
    from tritonc.cli.launching.launch_report import _output
    from tritonc.launch_run import Output

    values = list(range(20))
    written = list(_output("z", Output(summary={}, values=values)))

    assert written[1] == f"  {values}"


def test_the_key_may_be_in_a_file(tritond: FakeTritond, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("tritond_abc\n")
    environment = {"TRITOND_URL": "http://env.test", "TRITOND_API_KEY_FILE": f"{tmp_path}/key"}
    tritond.will_answer({"devices": []})

    assert main(["devices"], environment=environment, transport=tritond) == 0
    assert tritond.requests[0].headers["Authorization"] == "Bearer tritond_abc"


def test_a_key_file_that_is_gone_is_named(
    tritond: FakeTritond, capsys: pytest.CaptureFixture[str]
) -> None:
    environment = {"TRITOND_URL": "http://env.test", "TRITOND_API_KEY_FILE": "gone"}

    assert main(["devices"], environment=environment, transport=tritond) == 2
    assert "TRITOND_API_KEY_FILE: gone: No such file" in capsys.readouterr().err


@pytest.mark.parametrize("key", ["s3cret\nkey", "s3crét"])
def test_a_key_that_no_header_can_have_is_refused_and_not_shown(
    tritond: FakeTritond, capsys: pytest.CaptureFixture[str], key: str
) -> None:
    assert main(["targets"], environment={"TRITOND_API_KEY": key}, transport=tritond) == 2

    written = capsys.readouterr().err
    assert "the API key has a line break or a letter outside of ASCII" in written
    assert "s3c" not in written


def test_a_wrong_request_that_only_the_source_shows_exits_2_with_its_flag(
    tritond: FakeTritond, kernel: str, capsys: pytest.CaptureFixture[str]
) -> None:
    problem = {"slug": "ambiguous_kernel", "title": "Which?", "detail": "2 kernels: a, b"}
    tritond.will_answer(compilation("failed", problem=problem))

    assert run(tritond, "compile", kernel, "--target", "cuda:90", "--signature", "i32") == 2

    assert capsys.readouterr().err.endswith("tritonc: --kernel: 2 kernels: a, b\n")


def test_inspect_reads_no_ir(
    tritond: FakeTritond, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "add.ttir"
    file.write_text("module {}\n")

    assert run(tritond, "inspect", str(file)) == 2
    assert "add.ttir is TTIR, and inspect reads Python" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["add.ttir", "add.py"])
def test_an_empty_file_is_named_before_anything_is_sent(
    tritond: FakeTritond, capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    file = tmp_path / name
    file.write_text(" \n")

    assert run(tritond, "compile", str(file), "--target", "cuda:90") == 2
    assert f"{name} is empty" in capsys.readouterr().err
    assert tritond.requests == []


def test_a_slip_in_a_stage_is_named_before_anything_is_sent(
    tritond: FakeTritond, kernel: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tritond, "compile", kernel, "--target", "cuda:90", "--emit", "sas") == 2
    assert "there is no stage 'sas'. Did you mean sass?" in capsys.readouterr().err


def test_a_call_in_a_diagnostic_names_the_users_file() -> None:
    note = Diagnostic(severity="note", message="called from k at user.py:10", file="user.py")

    assert note.render("mine.py") == "mine.py: note: called from k at mine.py:10"


@pytest.mark.parametrize(
    ("checks", "remarks"),
    [
        ((), "races were not checked: add --check bounds overflow races\n"),
        (
            ("bounds",),
            "not checked: overflow; add --check overflow\n"
            "races were not checked: add --check races\n",
        ),
        (("bounds", "overflow", "races"), ""),
    ],
)
def test_a_proof_without_a_check_for_races_is_remarked_on(
    tritond: FakeTritond,
    kernel: str,
    capsys: pytest.CaptureFixture[str],
    checks: tuple[str, ...],
    remarks: str,
) -> None:
    Path(kernel).with_suffix(".contract").write_text("n >= 1\n")
    tritond.will_answer({"kernels": []})
    tritond.will_answer({"id": "p1", "state": "completed", "verdict": "proved"})

    words = ("--signature", "x_ptr=*fp32", *(("--check", *checks) if checks else ()))
    assert run(tritond, "prove", kernel, *words) == 0

    assert capsys.readouterr().err == remarks
