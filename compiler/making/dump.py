"""Reads MLIR's IR printing: which pass was about to run, and the module that it was given.

Triton has its pass managers print before every pass when MLIR_ENABLE_DUMP is set.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from compiler.making import tool

_ANY = re.compile(r"^// -----// .*$\n?", re.MULTILINE)
_BEFORE = re.compile(
    r"// -----// IR Dump Before (?P<pass>\w+)(?:: (?P<name>[\w.-]+)(?:\{(?P<options>.*)\})?)?"
    r"(?: \((?P<argument>[\w.-]+)\))? \((?P<operation>'[\w.]+' operation[^)]*)\)"
)
_ENABLED = "MLIR_ENABLE_DUMP"


@dataclass(frozen=True)
class Dump:
    """The module before one pass. `operation` is what the pass was run on."""

    name: str
    options: str
    operation: str
    text: str


class Capture:
    """What was printed since it was made or last taken."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def take(self) -> list[Dump]:
        """Return the modules printed, and forget them."""
        text = tool.content_of(self._descriptor).decode(errors="replace")
        os.ftruncate(self._descriptor, 0)
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        return list(read(text))


@contextmanager
def printing() -> Iterator[Capture]:
    """Have every pass manager print to the capture that is yielded."""
    kept = os.dup(2)
    with tool.memory("dump") as descriptor:
        os.dup2(descriptor, 2)
        os.environ[_ENABLED] = "1"
        try:
            yield Capture(descriptor)
        finally:
            del os.environ[_ENABLED]
            os.dup2(kept, 2)
            os.close(kept)


def read(text: str) -> Iterator[Dump]:
    """Yield the dumps in `text`. What passes print of their own inner steps is left out."""
    marks = list(_ANY.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    for mark, end in zip(marks, ends, strict=True):
        match = _BEFORE.match(mark[0])
        if match is not None:
            name = match["name"] or match["argument"] or match["pass"]
            options = match["options"] or ""
            yield Dump(name, options, match["operation"], text[mark.end() : end].strip("\n"))
