"""The outcomes of one commit, one line of JSON each, so that a run can be continued."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from corpus.posts import Outcome


class Outcomes:
    """The outcome of each tried kernel; `None` for kernels that do not compile directly."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._known: dict[str, tuple[str, Outcome | None]] = {}
        file.parent.mkdir(parents=True, exist_ok=True)
        for line in file.read_text().splitlines() if file.exists() else []:
            self._learn(json.loads(line))

    def has(self, kernel: str) -> bool:
        """Return True if a kernel was tried already."""
        return kernel in self._known

    def add(self, package: str, kernel: str, outcome: Outcome | None) -> None:
        """Store the outcome of a kernel."""
        written = outcome and asdict(outcome)
        line = {"package": package, "kernel": kernel, "outcome": written}
        with self._file.open("a") as file:
            file.write(json.dumps(line) + "\n")
        self._learn(line)

    def of(self, package: str) -> list[Outcome | None]:
        """Return the outcomes of one package's kernels."""
        return [outcome for name, outcome in self._known.values() if name == package]

    def _learn(self, line: dict[str, Any]) -> None:
        outcome = line["outcome"] and Outcome(**line["outcome"])
        self._known[line["kernel"]] = (line["package"], outcome)
