"""Programs from a shell.

A script ends them here; nothing is recorded.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from tritonc import Client
from tritonc.cli.main import main

from programs.service.program_examples import TAPE, TAPE_TEXT
from tests.integration.service.running import Deployment
from tests.programs.service.conftest import GPU, TIMED, ScriptedRecorder
from tests.programs.service.ended_programs import (
    FLAGGED,
    NOT_RECORDABLE,
    PASSED,
    REFERENCE,
    SOURCE,
    TIMES,
    WRONG,
    Ends,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "new.py").write_text(SOURCE)
    (tmp_path / "model.py").write_text(REFERENCE)
    return tmp_path


@dataclass(frozen=True)
class Ran:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def tritonc(
    recording: Deployment,
    recorder: ScriptedRecorder,
    secrets_of_programs: dict[str, str],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., Ran]:
    """Return the command, run in the folder by this process."""
    monkeypatch.chdir(folder)
    environment = {"TRITOND_URL": recording.url, "TRITOND_API_KEY": secrets_of_programs["alice"]}

    def run(*words: str) -> Ran:
        try:
            code = main(words, environment=environment)
        except SystemExit as wrong:  # argparse exits
            code = int(str(wrong.code))
        return Ran(code, *capsys.readouterr())

    return run


def test_the_command_says_whether_a_program_is_right(
    tritonc: Callable[..., Ran], ends: Ends
) -> None:
    done = ends(**PASSED)

    ran = tritonc(
        "program", "run", "new.py",
        "--reference", "model.py", "--reference-entry", "model:Model", "--rtol", "0.1",
    )  # fmt: skip

    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines()[-1] == "verdict: passed (403 ms)"
    assert done.result().state == "completed"


def test_the_command_fails_for_a_program_that_is_not(
    tritonc: Callable[..., Ran], ends: Ends
) -> None:
    ends(**WRONG)
    wrong = tritonc("program", "run", "new.py", "--json")
    ends(**NOT_RECORDABLE)
    failed = tritonc("program", "run", "new.py")

    assert (wrong.returncode, json.loads(wrong.stdout)["verdict"]) == (1, "out_of_bounds")
    assert failed.returncode == 1
    assert failed.stdout.splitlines() == [
        "new.py:18: error: .item() asks for a value",
        "    n_elements = output.numel()",
        "reward: compiled no, correct no",
        "failed: not_recordable",
    ]


@pytest.mark.parametrize("command", [("warm",), ("program", "tape")])
def test_commands_name_the_users_file_if_it_cannot_be_recorded(
    command: tuple[str, ...], tritonc: Callable[..., Ran], ends: Ends
) -> None:
    ends(**NOT_RECORDABLE)

    failed = tritonc(*command, "new.py")

    assert failed.returncode == 1
    assert failed.stderr.startswith("tritonc: new.py:18: error: .item() asks for a value")


def test_a_program_that_passed_with_a_serious_flag_is_not_good(
    tritonc: Callable[..., Ran], ends: Ends
) -> None:
    ends(**FLAGGED)
    done = tritonc("program", "run", "new.py")

    assert done.returncode == 1
    assert "verdict: passed (incorrect by its flags: no_kernel)" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "new.py", "--entry", "class:A"], "is not one of model:CLASS, function:NAME"),
        (
            ["run", "new.py", "--reference-entry", "script"],
            "--reference-entry: needs a --reference",
        ),
        (["run", "new.py", "--entry", "function:a.b"], "--entry: String should match pattern"),
        (["run", "none.py"], "none.py: No such file"),
        (["tape", "none.py"], "none.py: no such file"),
        (["tape", "0" * 32], "404 not_found: You have no program"),
        (
            ["run", "new.py", "--inputs", "model.py", "--entry", "script"],
            "--inputs: a script makes",
        ),
        (["run", "new.py", "--triton", "1.0"], "--triton: Triton 1.0 is not offered here"),
        (["run", "new.py", "--check", "spam"], "--check: Input should be"),
        (["run", "new.py", "--trials", "21"], "--trials: Input should be less than or equal to 20"),
    ],
)
def test_what_is_wrong_is_reported_in_the_words_of_the_command_line(
    tritonc: Callable[..., Ran],
    words: list[str],
    message: str,
) -> None:
    ran = tritonc("program", *words)

    assert (ran.returncode, ran.stdout) == (2, "")
    assert message in ran.stderr
    assert "Traceback" not in ran.stderr


def test_the_tape_of_an_id_is_shown(
    tritonc: Callable[..., Ran], client: Client, recorder: ScriptedRecorder
) -> None:
    posted = client.program(SOURCE, wait_s=0, check=False)
    recorder.keep_tapes(posted.id, {"candidate": TAPE})

    reported = tritonc("program", "tape", posted.id)
    shorter = tritonc("tape", posted.id)
    as_json = tritonc("program", "tape", posted.id, "--json")

    assert (reported.returncode, reported.stdout) == (0, TAPE_TEXT.rstrip("\n") + "\n")
    assert (shorter.returncode, shorter.stdout) == (0, reported.stdout)
    assert json.loads(as_json.stdout) == TAPE


def test_the_tape_of_a_file_is_recorded_and_shown(
    tritonc: Callable[..., Ran], recorder: ScriptedRecorder, ends: Ends
) -> None:
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(recorder.do_with_tape, TAPE)
        reported = tritonc("program", "tape", "new.py", "--reference", "model.py")
    ends(**NOT_RECORDABLE)
    failed = tritonc("program", "tape", "new.py")

    job = done.result()
    assert job.stop_after == "tape"
    assert job.reference is not None
    assert job.reference.source == REFERENCE
    assert (reported.returncode, reported.stdout) == (0, TAPE_TEXT.rstrip("\n") + "\n")
    assert failed.returncode == 1
    assert "error: .item() asks for a value" in failed.stderr


def test_an_id_can_be_shown_and_cancelled(tritonc: Callable[..., Ran], client: Client) -> None:
    posted = client.program(SOURCE, wait_s=0, check=False)

    shown = tritonc("get", posted.id)
    ended = tritonc("cancel", posted.id)

    assert f"program {posted.id}: queued" in shown.stdout
    assert f"program {posted.id}: cancelled" in ended.stdout


def test_the_command_asks_for_a_gpu_and_shows_what_takes_how_long(
    tritonc: Callable[..., Ran], gpu_recorder: ScriptedRecorder
) -> None:
    with ThreadPoolExecutor(1) as pool, gpu_recorder.living():
        pool.submit(gpu_recorder.do, **TIMED)
        ran = tritonc("program", "run", "new.py", "--reference", "model.py", "--device", "gpu")

    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines() == [*TIMES, f"verdict: passed on the {GPU.partition(' ')[2]}"]


def test_the_command_says_that_no_gpu_runs_programs(tritonc: Callable[..., Ran]) -> None:
    ran = tritonc("program", "run", "new.py", "--device", "gpu")

    assert (ran.returncode, ran.stdout) == (2, "")
    assert "--device gpu: no GPU of this service runs programs now" in ran.stderr


def test_the_command_asks_for_a_cpu(
    tritonc: Callable[..., Ran], recorder: ScriptedRecorder, gpu_recorder: ScriptedRecorder
) -> None:
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(recorder.do, **PASSED)
        ran = tritonc("program", "run", "new.py", "--device", "cpu", "--trials", "3")

    assert ran.returncode == 0
    assert done.result().device.interpreter
