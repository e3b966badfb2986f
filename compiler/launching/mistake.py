"""Turns what user code raised while it ran into a failure at the user's own line."""

from __future__ import annotations

import linecache
import re
import traceback
from collections.abc import Iterator

from compiler.excerpt import Diagnostic, Span, diagnostic, excerpt, file_in_kernel
from compiler.making import diagnosis, naming, wording
from compiler.making.failure import Failure
from compiler.making.module import Loaded

_UNDEFINED = re.compile(r"^name '(\w+)' is not defined")
_CALLED = re.compile(r"'(?:tensor|constexpr|int)' object is not callable")
_MOST_CALLS = 10


def of_kernel(error: Exception, loaded: Loaded) -> Failure:
    """Return the failure for what a kernel raised on the interpreter.

    Raises `MemoryError` if that is at its root.
    """
    root = _root(error)
    if isinstance(root, MemoryError):  # NumPy has a kind of its own
        raise MemoryError from error  # noqa: TRY004 - that is what it is
    undefined = _UNDEFINED.match(str(root))
    for dropped in loaded.dropped:
        if undefined and undefined[1] in dropped.names:
            return diagnosis.of_definition(dropped, undefined[1])
    hint = naming.advice_on_name(undefined[1], set()) if undefined else None
    if _CALLED.search(str(root)):
        hint = "Is a comma or an operator missing between two parentheses?"
    return of_code(error, "compile_error", wording.cleaned(repr(root)), hint)


def of_code(error: BaseException, slug: str, message: str, hint: str | None = None) -> Failure:
    """Return the failure for what user code raised, with the calls that led there."""
    places = list(_places(error))
    if not places:
        return Failure(slug, "frontend", message, [diagnostic("error", "frontend", message)])
    shown, calls = places[-1], places[-_MOST_CALLS - 1 : -1]
    found = _at(shown, "error", message, hint)
    notes = [_at(call, "note", f"called from {call.name}") for call in reversed(calls)]
    where = f"line {shown.lineno}: "
    return Failure(slug, "frontend", where + message, [found, *notes])


def _root(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _places(error: BaseException) -> Iterator[traceback.FrameSummary]:
    """Yield the user's lines that led to the root of `error`, outermost first."""
    link: BaseException | None = error
    while link is not None:
        for summary in traceback.extract_tb(link.__traceback__, limit=-50):
            if file_in_kernel(summary.filename) and summary.lineno:
                yield summary
        link = link.__cause__


def _at(
    summary: traceback.FrameSummary, severity: str, message: str, hint: str | None = None
) -> Diagnostic:
    line = summary.lineno or 1
    span = Span(file_in_kernel(summary.filename) or "user.py", line)
    shown = excerpt(linecache.getlines(summary.filename), span)
    return diagnostic(severity, "frontend", message, hint=hint, span=span, excerpt=shown)
