"""Turns an exception of a reference into a failure at the user's line."""

import linecache
import traceback
from collections.abc import Iterator

from compiler.diagnostic import (
    Diagnostic,
    Failure,
    Severity,
    Span,
    diagnostic,
    excerpt,
    file_in_kernel,
)

_MODULES_OF_MEMORY = frozenset({"builtins", "numpy", "torch"})  # NumPy has its own MemoryError
_MOST_CALLS = 10


def refusal_of(message: str) -> str:
    """Return the message for an error that the sandbox caused by refusing a system call."""
    return f"the sandbox refused what this calls: {message}"


def reraise_memory_error(error: BaseException) -> None:
    """Reraise a `MemoryError`, unless its class is the user's own."""
    own = type(error).__module__.partition(".")[0] not in _MODULES_OF_MEMORY
    if isinstance(error, MemoryError) and not own:
        raise MemoryError from error


def failure_at_user_line(error: BaseException, slug: str, message: str) -> Failure:
    """Return the failure for an exception of user code, with the calls that led to it."""
    places = list(_places(error))
    if not places:
        return Failure(slug, "frontend", message, [diagnostic("error", "frontend", message)])
    shown, calls = places[-1], places[-_MOST_CALLS - 1 : -1]
    found = _at(shown, "error", message)
    notes = [_at(call, "note", f"called from {call.name}") for call in reversed(calls)]
    return Failure(slug, "frontend", f"line {shown.lineno}: {message}", [found, *notes])


def _places(error: BaseException) -> Iterator[traceback.FrameSummary]:
    """Yield the user's lines that led to `error`, outermost first."""
    for summary in traceback.extract_tb(error.__traceback__, limit=-50):
        if file_in_kernel(summary.filename) and summary.lineno:
            yield summary


def _at(summary: traceback.FrameSummary, severity: Severity, message: str) -> Diagnostic:
    line = summary.lineno or 1
    span = Span(file_in_kernel(summary.filename) or "user.py", line)
    shown = excerpt(linecache.getlines(summary.filename), span)
    return diagnostic(severity, "frontend", message, span=span, excerpt=shown)
