"""CI runs the README's two commands; a release publishes what `make dist` and the Dockerfile build.

`make lint` has zizmor look for what an attacker could use in a workflow.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
WORKFLOWS: dict[str, dict[str, Any]] = {
    path.stem: yaml.safe_load(path.read_text())
    for path in sorted((ROOT / ".github/workflows").glob("*.yml"))
}
JOBS = {
    f"{name}: {job}": it for name, each in WORKFLOWS.items() for job, it in each["jobs"].items()
}
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")
RELEASE = WORKFLOWS["release"]["jobs"]


def commands(job: dict[str, Any]) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


def actions(job: dict[str, Any]) -> list[str]:
    return [step["uses"] for step in job["steps"] if "uses" in step]


def test_ci_runs_the_two_commands_of_the_readme():
    named = re.findall(r"^\$ (make \w+)$", (ROOT / "README.md").read_text(), re.MULTILINE)
    job = WORKFLOWS["ci"]["jobs"]["two-commands"]

    assert len(named) == 2
    assert [one for one in named if not any(one in run for run in commands(job))] == []


def test_ci_runs_on_every_python_from_the_oldest():
    job = WORKFLOWS["ci"]["jobs"]["two-commands"]
    oldest = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]

    assert job["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert oldest == ">=3.11"


@pytest.mark.parametrize("job", JOBS)
def test_actions_are_named_by_their_commit(job: str):
    assert [action for action in actions(JOBS[job]) if not PINNED.fullmatch(action)] == []


@pytest.mark.parametrize("job", JOBS)
def test_no_input_becomes_part_of_a_command(job: str):
    assert [run for run in commands(JOBS[job]) if "${{" in run] == []


def test_an_action_has_one_version_in_all_workflows():
    files = [*(ROOT / ".github/workflows").glob("*.yml"), ROOT / "action.yml"]
    used = re.findall(r"uses: (\S+)@(\S+)", "".join(path.read_text() for path in files))
    assert len(set(used)) == len({name for name, _ in used})


def test_tokens_have_the_least_rights():
    rights = {name: it.get("permissions") for name, it in (WORKFLOWS | JOBS).items()}
    assert rights == {
        "ci": {"contents": "read"},
        "ci: every-suite": None,
        "ci: two-commands": None,
        "release": {},
        "release: distributions": {"contents": "read"},
        "release: pypi": {"id-token": "write"},
        "release: images": {
            "contents": "read",
            "packages": "write",
            "id-token": "write",
            "attestations": "write",
        },
    }


def test_pypi_trusts_one_environment_and_gets_what_make_dist_tried():
    assert RELEASE["pypi"]["environment"] == "pypi"
    assert RELEASE["pypi"]["needs"] == "distributions"
    assert "make dist" in commands(RELEASE["distributions"])
    assert "password" not in str(RELEASE["pypi"])


def test_every_image_is_released_with_its_provenance_and_sbom():
    final = re.findall(r"(?m)^FROM \S+ AS (.+)\nLABEL .*title=tritond-(.+)$", DOCKERFILE)
    [build] = [run for run in commands(RELEASE["images"]) if "docker buildx build" in run]

    assert RELEASE["images"]["strategy"]["matrix"]["target"] == [name for name, _ in final]
    assert [name for name, title in final if name != title] == []
    assert "--provenance mode=max --sbom true" in build
    assert any("attest-build-provenance@" in one for one in actions(RELEASE["images"]))


def test_a_release_sets_every_label_that_a_build_by_hand_leaves_open():
    [build] = [run for run in commands(RELEASE["images"]) if "docker buildx build" in run]
    stage = DOCKERFILE[DOCKERFILE.index(" AS runtime\n") :]
    assert set(re.findall(r"--build-arg \"(\w+)=", build)) == set(
        re.findall(r"\nARG (\w+)=", stage)
    )


DOCKERFILE = (ROOT / "Dockerfile").read_text()
