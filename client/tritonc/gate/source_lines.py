"""The lines of a kernel's files, by the service's names for the files.

A line means its statement: Tritons differ in which line of a long statement they record for an
instruction. The text is not executed.
"""

import ast
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from tritonc.diagnostic import POSTED_SOURCE
from tritonc.packages.module_sources import parsed

MAX_TEXT_CHARS = 160
NUMBERED = "line "
"""The start of the name of a line whose text is not here, before its number."""


class SourceLines:
    """The texts of a kernel's file and its modules, and their paths on this machine."""

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
        """Return the path of a file on this machine."""
        return self._file_paths.get(file, self._path)

    def statement(self, file: str, line: int) -> int:
        """Return the first line of the statement around a line."""
        return self._starts.get(file, {}).get(line, line)

    def text(self, file: str, line: int) -> str:
        """Return the text of the first line of the statement around a line, "" if there is none."""
        lines, line = self._lines.get(file, []), self.statement(file, line)
        return lines[line - 1].strip()[:MAX_TEXT_CHARS] if 0 < line <= len(lines) else ""

    def name(self, file: str, line: int) -> str:
        """Return the identity of a line: its text, preceded by the file's name for modules."""
        return self.prefix(file) + (self.text(file, line) or f"{NUMBERED}{line}")

    def prefix(self, file: str) -> str:
        """Return the start of the names of a file's lines."""
        return "" if file == POSTED_SOURCE else f"{file[:MAX_TEXT_CHARS]}: "

    def has(self, name: str) -> bool:
        """Return whether a line has this name."""
        return name in self._names

    @cached_property
    def _names(self) -> set[str]:
        return {
            self.prefix(file) + line.strip()[:MAX_TEXT_CHARS]
            for file, lines in self._lines.items()
            for line in lines
        }

    @cached_property
    def _lines(self) -> dict[str, list[str]]:
        return {file: text.splitlines() for file, text in self._texts.items()}

    @cached_property
    def _starts(self) -> dict[str, dict[int, int]]:
        return {file: _statement_starts(text) for file, text in self._texts.items()}


def _statement_starts(text: str) -> dict[int, int]:
    """Return the first line of the statement by each further line; for blocks that of the head."""
    starts: dict[int, int] = {}
    for node in ast.walk(parsed(text)):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            end = body[0].lineno - 1 if body else node.end_lineno or node.lineno
            starts |= dict.fromkeys(range(node.lineno + 1, end + 1), node.lineno)
    return starts
