"""Diagnostics as plain dicts, and the excerpt that shows where in a text one points.

Standard library only: children of any toolchain and the worker parent both build diagnostics with
it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from compiler.addresses import without_addresses

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
