"""Turns what user code raised while it ran into a failure at the user's own line."""

from __future__ import annotations

import linecache
import re
import traceback
from collections.abc import Iterator

from triton.runtime.errors import InterpreterError

from compiler.excerpt import Diagnostic, Span, diagnostic, excerpt, file_in_kernel
from compiler.launching import needs_gpu
from compiler.launching.advising import advice
from compiler.making import definition, naming, refusal, wording
from compiler.making.failure import Failure
from compiler.making.module import Loaded

_UNDEFINED = re.compile(r"^name '(\w+)' is not defined")
_CALLED = re.compile(r"'(?:tensor|constexpr|int)' object is not callable")
_CAST = re.compile(r"cannot cast [^a-zA-Z]*? to (\S+)$", re.DOTALL)  # it shows all elements
_MODULES_OF_MEMORY = frozenset({"builtins", "numpy", "torch"})  # NumPy has a kind of its own
_STATIC_ASSERT = "_new_static_assert"  # the interpreter's own
_MOST_CALLS = 10
_ADVICE = "Launch it on a device with a GPU, or write it in operations of triton.language."


def of_kernel(error: Exception, loaded: Loaded) -> Failure:
    """Return the failure for what a kernel raised on the interpreter.

    Raises `MemoryError` for want of memory.
    """
    pass_on_want_of_memory(error)
    root = _root(error)
    if refusal.was_refused(root):
        said = refused(wording.cleaned(repr(root)))
        return of_code(error, refusal.SLUG, said, refusal.HINT)
    if needs_gpu.is_lacking(root):
        return of_code(error, "needs_gpu", needs_gpu.words(root), _ADVICE)
    undefined = _UNDEFINED.match(str(root))
    for dropped in loaded.dropped:
        if undefined and undefined[1] in dropped.names:
            return definition.of_definition(dropped, undefined[1], loaded.dropped)
    message = _CAST.sub(r"cannot cast this tensor to \1", wording.cleaned(repr(root)))
    if not root.args and _raised_at(root) is not None:
        message = f"{type(root).__name__} was raised"
    if any(last.name == _STATIC_ASSERT for last in _innermost(root)):
        message = f"tl.static_assert failed: {root}" if str(root) else "tl.static_assert failed"
    if undefined:
        hint = naming.advice_on_name(undefined[1], set())
    elif _CALLED.search(message):
        hint = "Is a comma or an operator missing between two parentheses?"
    else:
        hint = advice(root, message)
    return of_code(error, "compile_error", message, hint)


def refused(message: str) -> str:
    """Return what is said of an error (`message`) that the sandbox's refusal came as."""
    return f"the sandbox refused what this calls: {message}"


def pass_on_want_of_memory(error: BaseException) -> None:
    """Raise `MemoryError` if there was no memory: a class of the user's own says nothing of it."""
    kind = type(_root(error))
    own = kind.__module__.partition(".")[0] not in _MODULES_OF_MEMORY
    if issubclass(kind, MemoryError) and not own:
        raise MemoryError from error


def assertion_of(error: BaseException) -> tuple[str, int, str] | None:
    """Return file, line and words of an `assert` of the user's that does not hold, if it is one."""
    root = _root(error)
    if not isinstance(root, AssertionError):
        return None
    place = _raised_at(root)
    if place is None:
        return None
    return *place, f"assert failed: {root}" if root.args else "assert failed"


def _innermost(root: BaseException) -> traceback.StackSummary:
    """Return the one frame that raised `root`, none if nobody raised it."""
    return traceback.extract_tb(root.__traceback__, limit=-1)


def _raised_at(root: BaseException) -> tuple[str, int] | None:
    """Return file and line of the user's own code that raised `root`, `None` if Triton did."""
    for last in _innermost(root):
        file = file_in_kernel(last.filename)
        if file is not None and last.lineno is not None:
            return file, last.lineno
    return None


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
    *_, root = _chain(error)
    return root


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield `error` and, where the interpreter wrapped another one for each jit call, those."""
    link: BaseException | None = error
    while link is not None:
        yield link
        link = link.__cause__ if isinstance(link, InterpreterError) else None


def _places(error: BaseException) -> Iterator[traceback.FrameSummary]:
    """Yield the user's lines that led to the root of `error`, outermost first."""
    for link in _chain(error):
        for summary in traceback.extract_tb(link.__traceback__, limit=-50):
            if file_in_kernel(summary.filename) and summary.lineno:
                yield summary


def _at(
    summary: traceback.FrameSummary, severity: str, message: str, hint: str | None = None
) -> Diagnostic:
    line = summary.lineno or 1
    span = Span(file_in_kernel(summary.filename) or "user.py", line)
    shown = excerpt(linecache.getlines(summary.filename), span)
    return diagnostic(severity, "frontend", message, hint=hint, span=span, excerpt=shown)
