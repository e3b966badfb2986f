"""The outcomes of one run, one line of JSON each, so that a run can be continued."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from public_files.posting import Posted

PLAIN = "import_module"
"""The way of `corpus.loading` that is plain Python's."""


@dataclass(frozen=True)
class Outcome:
    """A posted kernel, or a file that could not be inspected (`kernel` is ""), and plain Triton's.

    `way` is how the file could be loaded outside: `import_module` is Python's own way, and "" is no
    way. `is_equal` is False if plain Triton compiled nothing to compare with.
    """

    package: str
    file: str
    kernel: str
    reason: str
    cpu_s: float
    sent: int
    module: str
    guess: dict[str, Any]
    way: str
    direct_error: str
    is_direct: bool
    is_equal: bool

    @property
    def is_compared(self) -> bool:
        """Return whether plain Python can import the file, and plain Triton compiles the kernel."""
        return self.is_direct and self.way == PLAIN

    @property
    def line(self) -> str:
        """The outcome in one line."""
        if self.is_direct:
            direct = f"{self.way}, {'equal' if self.is_equal else 'DIFFERENT or refused'}"
        else:
            direct = f"{self.way or 'not imported'}, refused: {self.direct_error[:200]}"
        name = f"{self.package}:{self.file}:{self.kernel}"
        return f"{name}: {self.reason or 'compiled'} ({self.cpu_s} s; directly: {direct})"


class Outcomes:
    """The outcomes of a run in a file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.all: list[Outcome] = []
        file.parent.mkdir(parents=True, exist_ok=True)
        for line in file.read_text().splitlines() if file.exists() else []:
            self.all.append(Outcome(**json.loads(line)))

    def has(self, package: str, file: str) -> bool:
        """Return True if a file was posted already."""
        return any((outcome.package, outcome.file) == (package, file) for outcome in self.all)

    def add(self, outcome: Outcome) -> None:
        """Store an outcome."""
        with self._file.open("a") as file:
            file.write(json.dumps(asdict(outcome)) + "\n")
        self.all.append(outcome)


def plan_of(posted: Posted) -> dict[str, Any]:
    """Return what `corpus.plain` compiles: the same kernel with the same types."""
    asked = hashlib.sha256(json.dumps(posted.guess, sort_keys=True).encode()).hexdigest()
    return {
        "id": f"{posted.id}:{asked}",
        "file": posted.file,
        "name": posted.kernel,
        "guesses": [posted.guess],
    }
