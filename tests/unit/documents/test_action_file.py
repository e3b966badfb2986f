"""`action.yml` holds together: what it names is there, and no input becomes part of a command."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.distributions.action_run import ACTION, ROOT, STEPS

RUN = [step for step in STEPS if "run" in step]
SCRIPTS = sorted((ROOT / ".github" / "gate").glob("*.sh"))


def test_it_is_a_composite_action():
    assert ACTION["runs"]["using"] == "composite"
    assert all(step["shell"] == "bash" for step in RUN)


def test_every_input_is_used_and_described():
    text = (ROOT / "action.yml").read_text()
    for name, described in ACTION["inputs"].items():
        assert described["description"].endswith(".")
        assert re.search(rf"inputs\.{re.escape(name)}\b", text), name


def test_inputs_reach_commands_by_their_environment_only():
    assert not [step for step in RUN if "${{" in step["run"]]


def test_outputs_are_those_of_a_step():
    steps = {step["id"] for step in STEPS if "id" in step}
    for output in ACTION["outputs"].values():
        [step] = re.findall(r"steps\.(\w+)\.outputs", output["value"])
        assert step in steps


def test_every_script_is_run_and_there():
    named = {name for step in RUN for name in re.findall(r"\.github/gate/(\S+\.sh)", step["run"])}
    assert named == {script.name for script in SCRIPTS}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_script_is_bash(script):
    assert subprocess.run(["bash", "-n", script]).returncode == 0
    assert script.stat().st_mode & 0o100
