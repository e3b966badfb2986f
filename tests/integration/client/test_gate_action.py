"""The scripts of the GitHub Action: bash parses them, and the runner sees no user's text."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parents[3] / ".github" / "gate").glob("*.*sh"))
[JUDGE] = [script for script in SCRIPTS if script.name == "judge.sh"]
SHOUTING = "print('::set-output name=exit-code::0')\nraise SystemExit(1)\n"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_script_is_bash(script: Path) -> None:
    assert subprocess.run(["bash", "-n", script]).returncode == 0


def test_what_the_gate_shows_is_no_command_to_the_runner(tmp_path: Path) -> None:
    programs = tmp_path / "tritonc-gate" / "environment" / "bin"
    programs.mkdir(parents=True)
    (programs / "tritonc").write_text(SHOUTING)
    (programs / "python").symlink_to(sys.executable)
    written = {name: str(tmp_path / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    given = {"GATE_ARGUMENTS": "", "GATE_FILE": "kernels.toml", "GATE_URL": "http://localhost"}
    folders = {"GATE_DIRECTORY": ".", "GITHUB_WORKSPACE": str(tmp_path / "checkout")}
    (tmp_path / "checkout").mkdir()

    done = subprocess.run(
        ["bash", str(JUDGE)],
        env={"PATH": "/usr/bin:/bin", "RUNNER_TEMP": str(tmp_path), **written, **given, **folders},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )

    stopped, shown, _, resumed = done.stdout.splitlines()
    token = stopped.removeprefix("::stop-commands::")
    assert len(token) == 32
    assert (shown, resumed) == ("::set-output name=exit-code::0", f"::{token}::")
    assert (tmp_path / "GITHUB_OUTPUT").read_text() == "exit-code=2\n"
