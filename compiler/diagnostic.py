"""The one way a task says that a compilation did not work.

Must not know of frames, pools or HTTP.

Takes addresses of memory out of texts: they differ from run to run, and an answer must not.

A failure is answered to everybody who posts the same source again, so its words are those of the
source alone.

How much of a text is kept, and how it tells that there was more.

Records are kept for a day and sent to whoever asks, so nothing in one is as long as its author
likes. Pure.

Diagnostics as plain dicts, and the excerpt that shows where in a text one points.

Standard library only: children of any toolchain and the worker parent both build diagnostics with
it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]{4,16}\b|\b0x[0-9a-fA-F]{9,16}(?=: )")
"""As Python's `repr` writes it (`<function g at 0x7f2a...>`), and LLVM before a node's text."""


def without_addresses(text: str) -> str:
    """Return `text` with `<function g at 0x7f2a...>` as `<function g>`."""
    return _ADDRESS.sub("", text) if "0x" in text else text


MESSAGE_CHARS = 4000
STDOUT_CHARS = 72 << 10
"""More than the first bytes that are kept of one child's, and what says that there were more."""
_NOTE_CHARS = 60


def clipped(text: str, most_chars: int) -> str:
    """Return `text`, or as much of it as leaves room to say how many characters are missing.

    What was clipped stays as it is when it is clipped again.
    """
    if len(text) <= most_chars:
        return text
    kept = max(most_chars - _NOTE_CHARS, 0)
    return f"{text[:kept]}… [{len(text) - kept} more characters were not kept]"


Diagnostic = dict[str, Any]

KERNEL_FOLDER = "/kernel/"
USER_FILE = "user.py"
LONGEST_EXCERPT_LINE = 400
_WORD = re.compile(r"[\w.]+")


@dataclass(frozen=True)
class Span:
    """A place in a text: 1-based lines and columns, the end column being the first one after it."""

    file: str
    line: int
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None


def diagnostic(
    severity: str,
    stage: str,
    message: str,
    *,
    hint: str | None = None,
    span: Span | None = None,
    excerpt: str | None = None,
) -> Diagnostic:
    """Return one diagnostic with every documented field, `None` where it has no value."""
    return {
        "severity": severity,
        "stage": stage,
        "message": without_addresses(message),
        "hint": without_addresses(hint) if hint else hint,
        "file": span.file if span else None,
        "line": span.line if span else None,
        "column": span.column if span else None,
        "end_line": span.end_line if span else None,
        "end_column": span.end_column if span else None,
        "excerpt": excerpt,
    }


def excerpt(lines: Sequence[str], span: Span) -> str | None:
    """Return the line that `span` starts on and carets under it, `None` if there is no such line.

    Tabs in front of the carets are kept, so that both lines are indented alike whatever a tab's
    width.
    """
    if not 1 <= span.line <= len(lines):
        return None
    text = lines[span.line - 1].rstrip("\r\n")[:LONGEST_EXCERPT_LINE]
    if span.column is None:
        return text
    start = min(max(span.column - 1, 0), len(text))
    if span.end_column is not None and span.end_line == span.line:
        end = span.end_column - 1
    else:
        word = _WORD.match(text, start)
        end = word.end() if word else start + 1
    if span.end_line is not None and span.end_line > span.line:
        end = len(text.split("#", 1)[0].rstrip()) if text[:1] != "#" else len(text)
    width = max(min(end, len(text)) - start, 1)
    margin = "".join("\t" if character == "\t" else " " for character in text[:start])
    return f"{text}\n{margin}{'^' * width}"


def file_in_kernel(path: str) -> str | None:
    """Return the user's own name for a virtual path ("/kernel/user.py" is "user.py"), or `None`."""
    return path.removeprefix(KERNEL_FOLDER) if path.startswith(KERNEL_FOLDER) else None


MAX_TEXT_CHARS = 10_000


class Failure(Exception):
    """An ordinary, named end of a task: an API `slug`, and the `stage` that was not reached."""

    def __init__(
        self, slug: str, stage: str, message: str, diagnostics: Sequence[Diagnostic] = ()
    ) -> None:
        super().__init__(message)
        self.slug = slug
        self.stage = stage
        self.conclusive = False
        """Whether nothing stood in for anything while the source was executed."""
        self.message = _bounded(without_addresses(message))
        self.diagnostics = [
            {key: _bounded(value) for key, value in diagnostic.items()}
            for diagnostic in diagnostics
        ]


def _bounded(value: Any) -> Any:
    """Cut texts that only the user's code bounds: an exception may say megabytes."""
    if isinstance(value, str) and len(value) > MAX_TEXT_CHARS:
        return f"{value[:MAX_TEXT_CHARS]}... ({len(value):,} characters)"
    return value
