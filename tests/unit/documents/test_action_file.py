"""Files that `action.yml` names exist, and no input becomes part of a shell command."""

from __future__ import annotations

import re

from tests.distributions.action_run import ACTION, ROOT, STEPS

RUN = [step for step in STEPS if "run" in step]
STARTED = sorted((ROOT / ".github" / "gate").glob("*.sh"))
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")


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
    assert named == {script.name for script in STARTED}


def test_actions_of_others_are_named_by_their_commit():
    """A tag can move to other code; a commit cannot."""
    documents = "".join(path.read_text() for path in sorted((ROOT / "docs").rglob("*.md")))
    used = [step["uses"] for step in STEPS if "uses" in step]
    used += re.findall(r"uses: (?!OWNER/tritond@)(\S+)", documents)

    assert len(used) >= 3
    assert [one for one in used if not PINNED.fullmatch(one)] == []


def test_only_the_step_that_judges_has_the_api_key():
    assert [step["name"] for step in STEPS if "GATE_API_KEY" in step["env"]] == ["Judge"]
    without = [step["name"] for step in STEPS if step["env"].get("TRITOND_API_KEY") == ""]
    assert [*without, "Judge"] == [
        "Install", "Start tritond", "Stop tritond", "Show the findings", "Outcome", "Judge"
    ]  # fmt: skip


def test_every_script_may_be_executed():
    assert all(script.stat().st_mode & 0o100 for script in STARTED)
