"""The GitHub Action's steps in a checkout whose every file is an attacker's.

The scripts and the programs that they start are real; only GitHub's variables and folders are
fakes. `tests/distributions` runs the whole action in such a checkout.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.security.hostile_checkout import hostile_modules

GATE = Path(__file__).parents[2] / ".github" / "gate"
API_KEY = "KEY-5d0c3a"


@dataclass(frozen=True)
class HostileCheckout:
    """A checkout whose modules write to `ran` when imported, and the runner's folders."""

    workspace: Path
    temporary: Path
    ran: Path

    def step(self, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a script as a step; its environment has only GitHub's variables and `variables`."""
        runner = {
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
            "HOME": str(self.temporary),
            "RUNNER_TEMP": str(self.temporary),
            "GITHUB_ACTION_PATH": str(self.temporary / "action"),
            "GITHUB_OUTPUT": str(self.temporary / "output"),
            "GITHUB_STEP_SUMMARY": str(self.temporary / "summary"),
            "GITHUB_WORKSPACE": str(self.workspace),
            "PYTHONPATH": str(self.workspace),
            "PYTHONSTARTUP": str(self.workspace / "json.py"),
        }
        return subprocess.run(
            ["bash", GATE / script],
            cwd=self.workspace,
            env=runner | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def judged(self, file: str = "kernels.toml", **variables: str) -> str:
        """Return the output of the judging step for a service that does not exist."""
        (self.temporary / "tritonc-gate").mkdir()
        (self.temporary / "tritonc-gate" / "environment").symlink_to(sys.prefix)
        given = {"GATE_ARGUMENTS": "", "GATE_FILE": file, "GATE_DIRECTORY": "."}
        nowhere = {"GATE_URL": "http://127.0.0.1:1"}
        return self.step("judge.sh", **given, **nowhere, **variables).stdout


@pytest.fixture
def hostile(tmp_path: Path) -> HostileCheckout:
    (tmp_path / "checkout").mkdir()
    (tmp_path / "runner").mkdir()
    ran = hostile_modules(tmp_path / "checkout")
    checkout = HostileCheckout(tmp_path / "checkout", tmp_path / "runner", ran)
    (checkout.workspace / "kernels.toml").write_text("[kernels]\n")
    return checkout


def test_judging_runs_nothing_of_the_checkout(hostile: HostileCheckout):
    shown = hostile.judged(TRITOND_API_KEY=API_KEY)

    assert "kernels: there is no kernel; write each as [kernels.NAME]" in shown
    assert not hostile.ran.exists()


def test_installing_runs_nothing_of_the_checkout(hostile: HostileCheckout):
    (hostile.temporary / "tritonc-gate").mkdir()
    (hostile.temporary / "tritonc-gate/environment").write_text("a file: nothing can be made here")
    given = {"GATE_PYTHON": sys.executable, "GATE_TRITONS": "", "GATE_URL": "http://127.0.0.1:1"}

    done = hostile.step("install.sh", TRITOND_API_KEY=API_KEY, **given)

    assert "Unable to create directory" in done.stdout  # output of Python's own venv
    assert not hostile.ran.exists()


@pytest.mark.parametrize("python", ["./python3", "bin/python3", "{workspace}/bin/python3"])
def test_a_python_of_the_checkout_is_not_started(hostile: HostileCheckout, python: str):
    written = python.format(workspace=hostile.workspace)
    program = hostile.workspace / "bin/python3"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho ran >> {hostile.ran}\n")
    program.chmod(0o755)

    done = hostile.step("install.sh", GATE_PYTHON=written, GATE_TRITONS="", GATE_URL="")

    assert done.returncode == 2
    assert f"::error::python: {written} is in the checkout" in done.stdout
    assert not hostile.ran.exists()


@pytest.mark.parametrize("data", [".tritond", "{workspace}/.tritond", "link/data"])
def test_a_store_in_the_checkout_is_refused(hostile: HostileCheckout, data: str):
    (hostile.workspace / "link").symlink_to(hostile.workspace)
    written = data.format(workspace=hostile.workspace)

    done = hostile.step("start.sh", GATE_DATA=written)

    assert done.returncode == 2
    assert f"::error::data: {written} is in the checkout" in done.stdout
    assert not hostile.ran.exists()


@pytest.mark.parametrize("script", ["install.sh", "start.sh"])
def test_what_steps_that_do_not_judge_start_does_not_have_the_key(
    hostile: HostileCheckout, script: str
):
    seen = hostile.temporary / "seen"
    python = hostile.temporary / "tritonc-gate/environment/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\nenv >> {seen}\nexit 1\n")
    python.chmod(0o755)
    given = {"GATE_PYTHON": str(python), "GATE_TRITONS": "", "GATE_URL": "", "GATE_DATA": ""}

    hostile.step(script, TRITOND_API_KEY=API_KEY, PIP_INDEX_URL="http://127.0.0.1:1", **given)

    assert "RUNNER_TEMP=" in seen.read_text()
    assert not {API_KEY, "PIP_INDEX_URL", "PYTHONPATH"} & set(
        seen.read_text().replace("=", " ").split()
    )


@pytest.mark.parametrize("script", ["install.sh", "start.sh", "judge.sh"])
def test_no_step_hands_on_other_secrets_of_the_job(hostile: HostileCheckout, script: str):
    seen = hostile.temporary / "seen"
    python = hostile.temporary / "tritonc-gate/environment/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\nenv >> {seen}\nexit 1\n")
    python.chmod(0o755)
    given = {"GATE_PYTHON": str(python), "GATE_TRITONS": "", "GATE_DATA": "", "GATE_ARGUMENTS": ""}
    given |= {"GATE_URL": "http://127.0.0.1:1", "GATE_FILE": "kernels.toml", "GATE_DIRECTORY": "."}
    secrets = (
        "AWS_SECRET_ACCESS_KEY",
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
        "GITHUB_TOKEN",
        "SHELLOPTS_",
    )
    passed = {"HTTPS_PROXY": "http://proxy.example:3128", "TRITOND_SLOTS": "1"}

    hostile.step(script, **given, **passed, **dict.fromkeys(secrets, "S3CRET"))

    had = seen.read_text()
    assert "S3CRET" not in had
    assert "HTTPS_PROXY=" in had
    assert "TRITOND_SLOTS=1" in had


def test_a_gate_file_that_is_a_link_out_of_the_checkout_is_not_read(hostile: HostileCheckout):
    secret = hostile.temporary / "secret.toml"
    secret.write_text("password = 'hunter2'\n")
    (hostile.workspace / "linked.toml").symlink_to(secret)

    shown = hostile.judged("linked.toml")

    assert "linked.toml leaves the checkout" in shown
    assert "password" not in shown


def test_a_log_that_is_shown_is_no_command_to_the_runner(hostile: HostileCheckout):
    gone = subprocess.Popen(["true"])
    gone.wait()
    here = hostile.temporary / "tritonc-gate"
    here.mkdir()
    (here / "tritond.pid").write_text(f"{gone.pid}\n")
    (here / "tritond.log").write_text("::add-mask::ERROR\n")

    stopped, shown, _, resumed = hostile.step("stop.sh").stdout.splitlines()

    token = stopped.removeprefix("::stop-commands::")
    assert re.fullmatch("[0-9a-f]{32}", token)
    assert (shown, resumed) == ("::add-mask::ERROR", f"::{token}::")
