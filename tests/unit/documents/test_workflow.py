"""CI runs the README's two commands, and pins actions by commit."""

import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[3]
WORKFLOW: dict[str, Any] = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
[JOB] = WORKFLOW["jobs"].values()
RUN = [step["run"] for step in JOB["steps"] if "run" in step]
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")


def test_it_runs_the_two_commands_of_the_readme():
    commands = re.findall(r"^\$ (make \w+)$", (ROOT / "README.md").read_text(), re.MULTILINE)

    assert len(commands) == 2
    assert [command for command in commands if not any(command in run for run in RUN)] == []


def test_actions_are_named_by_their_commit():
    used = [step["uses"] for step in JOB["steps"] if "uses" in step]

    assert [action for action in used if not PINNED.fullmatch(action)] == []


def test_no_input_becomes_part_of_a_command():
    assert [run for run in RUN if "${{" in run] == []


def test_its_token_can_only_read():
    assert WORKFLOW["permissions"] == {"contents": "read"}
