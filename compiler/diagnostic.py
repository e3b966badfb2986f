"""Diagnostics, assumptions and failures: the errors of everything that compiles or runs kernels.

The one definition of each, for children, workers, records and OpenAPI. A failure is answered to
everybody who posts the same source again, so its words are those of the source alone: addresses of
memory are taken out, and texts are only as long as a record keeps. Standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from compiler.stages import DiagnosticStage

KERNEL_FOLDER = "/kernel/"
USER_FILE, REFERENCE_FILE = "user.py", "reference.py"
MAX_EXCERPT_LINE = 400
MESSAGE_CHARS = 4000
MAX_TEXT_CHARS = 10_000
STDOUT_CHARS = 72 << 10
"""More than the first bytes that are kept of one child's, and the note that there were more."""
_NOTE_CHARS = 60
_WORD = re.compile(r"[\w.]+")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]{4,16}\b|\b0x[0-9a-fA-F]{9,16}(?=: )")
"""As Python's `repr` writes it (`<function g at 0x7f2a...>`), and LLVM before a node's text."""

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Diagnostic:
    """One message about the source, at its own line and column (1-based)."""

    severity: Severity
    stage: DiagnosticStage
    message: str
    hint: str | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    excerpt: str | None = None

    @property
    def is_warning(self) -> bool:
        """True if the kernel compiles, but its author should know."""
        return self.severity == "warning"

    @property
    def advice(self) -> str:
        """Return the message with its hint as separate sentences."""
        if not self.hint:
            return self.message
        end = "" if self.message.endswith((".", "!", "?")) else "."
        return f"{self.message}{end} {self.hint}"

    def at(self, span: Span, excerpt: str | None) -> Diagnostic:
        """Return the same message at another place."""
        return replace(
            self,
            file=span.file,
            line=span.line,
            column=span.column,
            end_line=span.end_line,
            end_column=span.end_column,
            excerpt=excerpt,
        )


@dataclass(frozen=True)
class Assumption:
    """The assumption about a statement that could not be executed unchanged."""

    file: str
    line: int
    message: str


@dataclass(frozen=True)
class Span:
    """A place in a text: 1-based lines and columns, the end column being the first one after it."""

    file: str
    line: int
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None


class Failure(Exception):
    """An ordinary, named end of a task: an API `slug`, and the `stage` that was not reached."""

    def __init__(
        self, slug: str, stage: str, message: str, diagnostics: Sequence[Diagnostic] = ()
    ) -> None:
        super().__init__(message)
        self.slug = slug
        self.stage = stage
        self.reason: str | None = None
        """A finer word than `slug`, such as `static_assert`."""
        self.needs: list[str] = []
        """Modules that the source imports and that the caller may have."""
        self.message = _bounded(without_addresses(message))
        self.diagnostics = [_with_bounded_texts(item) for item in diagnostics]


def diagnostic(
    severity: Severity,
    stage: str,
    message: str,
    *,
    hint: str | None = None,
    span: Span | None = None,
    excerpt: str | None = None,
) -> Diagnostic:
    """Return a diagnostic of texts that user code may have worded, without addresses in them.

    `stage` is one of DiagnosticStage: the worker checks that.
    """
    plain = Diagnostic(
        severity=severity,
        stage=stage,  # type: ignore[arg-type]
        message=without_addresses(message),
        hint=without_addresses(hint) if hint else hint,
        excerpt=excerpt,
    )
    return plain.at(span, excerpt) if span else plain


def excerpt(lines: Sequence[str], span: Span) -> str | None:
    """Return the line that `span` starts on and carets under it, `None` if there is no such line.

    Tabs in front of the carets are kept, so that both lines are indented alike whatever a tab's
    width.
    """
    if not 1 <= span.line <= len(lines):
        return None
    text = lines[span.line - 1].rstrip("\r\n")[:MAX_EXCERPT_LINE]
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


def without_addresses(text: str) -> str:
    """Return `text` with `<function g at 0x7f2a...>` as `<function g>`."""
    return _ADDRESS.sub("", text) if "0x" in text else text


def clipped(text: str, most_chars: int) -> str:
    """Return `text`, or as much of it as leaves room for how many characters are missing.

    What was clipped stays as it is when it is clipped again.
    """
    if len(text) <= most_chars:
        return text
    kept = max(most_chars - _NOTE_CHARS, 0)
    return f"{text[:kept]}… [{len(text) - kept} more characters were not kept]"


def _with_bounded_texts(item: Diagnostic) -> Diagnostic:
    return replace(
        item,
        message=_bounded(item.message),
        hint=item.hint and _bounded(item.hint),
        file=item.file and _bounded(item.file),
        excerpt=item.excerpt and _bounded(item.excerpt),
    )


def _bounded(text: str) -> str:
    """Cut texts that only the user's code bounds: an exception's text may have megabytes."""
    if len(text) <= MAX_TEXT_CHARS:
        return text
    return f"{text[:MAX_TEXT_CHARS]}... ({len(text):,} characters)"
