"""The lines of a kernel's files, by the names that the service gives to these.

A line stands for its statement: which line of a long one an instruction has differs from Triton to
Triton. Nothing of the text is executed.
"""

import ast
import warnings
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from tritonc.diagnostic import POSTED_SOURCE

MAX_TEXT_CHARS = 160


class SourceLines:
    """The texts of a kernel's file and of those that travel with it, and where these are here."""

    def __init__(
        self, path: Path, texts: Mapping[str, str], file_paths: Mapping[str, Path]
    ) -> None:
        self._path = path
        self._texts = texts
        self._file_paths = file_paths

    @property
    def source(self) -> str:
        """The text of the kernel's file."""
        return self._texts[POSTED_SOURCE]

    def path(self, file: str) -> Path:
        """Return where a file is here."""
        return self._file_paths.get(file, self._path)

    def statement(self, file: str, line: int) -> int:
        """Return the first line of the statement that a line is of."""
        return self._starts.get(file, {}).get(line, line)

    def text(self, file: str, line: int) -> str:
        """Return the first line of the statement that a line is of, "" where there is none."""
        lines, line = self._lines.get(file, []), self.statement(file, line)
        return lines[line - 1].strip()[:MAX_TEXT_CHARS] if 0 < line <= len(lines) else ""

    def name(self, file: str, line: int) -> str:
        """Return what a line is known by: its text, behind the name of a further file."""
        text = self.text(file, line) or f"line {line}"
        return text if file == POSTED_SOURCE else f"{file[:MAX_TEXT_CHARS]}: {text}"

    @cached_property
    def _lines(self) -> dict[str, list[str]]:
        return {file: text.splitlines() for file, text in self._texts.items()}

    @cached_property
    def _starts(self) -> dict[str, dict[int, int]]:
        return {file: _statement_starts(text) for file, text in self._texts.items()}


def _statement_starts(text: str) -> dict[int, int]:
    """Return the first line of the statement by each further line; of a block that of its head."""
    starts: dict[int, int] = {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Python thinks of an escape is not asked
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return starts
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            end = body[0].lineno - 1 if body else node.end_lineno or node.lineno
            starts |= dict.fromkeys(range(node.lineno + 1, end + 1), node.lineno)
    return starts
