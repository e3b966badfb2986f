"""The scripts of the GitHub Action: bash parses them, and the runner sees no user's text."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parents[3] / ".github" / "gate").glob("*.*sh"))
[JUDGE] = [script for script in SCRIPTS if script.name == "judge.sh"]
SHOUTING = "print('::set-output name=exit-code::0')\nraise SystemExit(1)\n"

ANNOTATION = "::error file=a.py,line=3::not proved"
ANNOTATING = f"""import sys
path = sys.argv[sys.argv.index("--github") + 1]
open(path, "w").write({ANNOTATION + chr(10)!r})
"""


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_script_is_bash(script: Path) -> None:
    assert subprocess.run(["bash", "-n", script]).returncode == 0


def judged(tmp_path: Path, program: str, **more: str) -> list[str]:
    """Return the lines of the judging step, whose tritonc is `program`."""
    programs = tmp_path / "tritonc-gate" / "environment" / "bin"
    programs.mkdir(parents=True)
    (programs / "tritonc").write_text(program)
    (programs / "python").symlink_to(sys.executable)
    written = {name: str(tmp_path / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    given = {"GATE_ARGUMENTS": "", "GATE_FILE": "kernels.toml", "GATE_URL": "http://localhost"}
    folders = {"GATE_DIRECTORY": ".", "GITHUB_WORKSPACE": str(tmp_path / "checkout")}
    (tmp_path / "checkout").mkdir()
    where = {"PATH": "/usr/bin:/bin", "RUNNER_TEMP": str(tmp_path)}
    done = subprocess.run(
        ["bash", str(JUDGE)],
        env={**where, **written, **given, **folders, **more},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_what_the_gate_shows_is_no_command_to_the_runner(tmp_path: Path) -> None:
    stopped, shown, _, resumed = judged(tmp_path, SHOUTING)

    token = stopped.removeprefix("::stop-commands::")
    assert len(token) == 32
    assert (shown, resumed) == ("::set-output name=exit-code::0", f"::{token}::")
    assert (tmp_path / "GITHUB_OUTPUT").read_text() == "exit-code=2\n"


@pytest.mark.parametrize(("uploads", "shown"), [("false", [ANNOTATION]), ("true", [])])
def test_findings_are_annotations_where_code_scanning_shows_none(
    tmp_path: Path, uploads: str, shown: list[str]
) -> None:
    lines = judged(tmp_path, ANNOTATING, GATE_UPLOAD_SARIF=uploads)

    assert lines[3:] == shown  # after the commands are resumed
