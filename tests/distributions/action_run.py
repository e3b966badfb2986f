"""Runs a composite GitHub Action like a runner: its steps in order, in one folder.

The job's environment has the folder on `PYTHONPATH`, like jobs that test their checkout. It
implements only what `action.yml` uses of the runner's language: inputs, outputs of steps, `==`,
`!=`, `&&` and `always()`. It skips steps of other people's actions.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")


@dataclass
class ActionRun:
    """One use of the action: its exit code, output, and outputs of its steps."""

    workspace: Path
    temporary: Path
    inputs: dict[str, str]
    log: str = ""
    exit_code: int = 0
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        """The job's summary."""
        return (self.temporary / "summary").read_text()

    def run(self) -> ActionRun:
        """Run every step; after a failure only those that always run."""
        defaults = {name: str(i.get("default", "")) for name, i in ACTION["inputs"].items()}
        self.inputs = defaults | self.inputs
        (self.temporary / "summary").touch()
        for step in STEPS:
            is_always = "always()" in step.get("if", "")
            if "run" in step and (not self.exit_code or is_always) and self._holds(step):
                self.exit_code = self._step(step) or self.exit_code
        return self

    def _holds(self, step: dict[str, Any]) -> bool:
        terms = _EXPRESSION.sub(r"\1", step.get("if", "always()")).split("&&")
        return all(self._term(term.strip()) for term in terms)

    def _term(self, term: str) -> bool:
        if term == "always()":
            return True
        left, operator, right = term.split()
        return (self._value(left) == right.strip("'")) == (operator == "==")

    def _value(self, expression: str) -> str:
        match expression.split("."):
            case ["inputs", name]:
                return self.inputs[name]
            case ["steps", step, "outputs", name]:
                return self.outputs.get(step, {}).get(name, "")
        raise AssertionError(f"{expression} is not known here")

    def _filled(self, text: str) -> str:
        return _EXPRESSION.sub(lambda match: self._value(match[1]), text)

    def _step(self, step: dict[str, Any]) -> int:
        written = self.temporary / f"output-{step.get('id', 'none')}"
        written.touch()
        environment = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(self.temporary),
            "RUNNER_TEMP": str(self.temporary),
            "GITHUB_WORKSPACE": str(self.workspace),
            "PYTHONPATH": str(self.workspace),
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_OUTPUT": str(written),
            "GITHUB_STEP_SUMMARY": str(self.temporary / "summary"),
            **{name: self._filled(str(text)) for name, text in step.get("env", {}).items()},
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.workspace / self._filled(step.get("working-directory", ".")),
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.log += done.stdout
        lines = [line.partition("=") for line in written.read_text().splitlines()]
        if "id" in step:
            self.outputs[step["id"]] = {name: value for name, _, value in lines}
        return done.returncode
