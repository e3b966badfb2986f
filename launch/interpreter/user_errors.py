"""Turns what user code raised on the interpreter into a failure at the user's own line.

The advice is that of the compiler's front end, and a little that only the interpreter needs.
"""

from __future__ import annotations

import ast
import linecache
import re
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

import triton.language as tl
from triton.runtime.errors import InterpreterError

from compiler.diagnostic import (
    Diagnostic,
    Failure,
    Severity,
    Span,
    diagnostic,
    excerpt,
    file_in_kernel,
)
from compiler.front import environment
from compiler.front.diagnosis import hints, module_errors, name_errors, wording
from compiler.front.diagnosis.context import Context
from compiler.front.module import Loaded
from launch.interpreter import missing_ops

_OWN = (
    (
        r"does not support item assignment",
        "A block is never changed in place: choose elements with tl.where, or write to memory with "
        "tl.store(pointer + offsets, values).",
    ),
    (
        r"cannot cast this tensor",
        "These are addresses and no elements: is there a tl.load missing?",
    ),
    (
        r"^Expected dtype .* but got (?:fp16|bf16|fp8)",
        "Convert first, as by x.to(tl.float32): the function is not there for narrow types.",
    ),
)
"""Patterns of messages that only the interpreter gives, and advice."""


@dataclass(frozen=True)
class _Function:
    """What advice reads of a jit function."""

    src: str
    __globals__: Mapping[str, Any]


def advice(error: BaseException, message: str) -> str | None:
    """Return advice for an error whose words are `message`, `None` if there is none."""
    place = _innermost(error)
    if place is None:
        return None
    frame, line = place
    file = frame.f_code.co_filename
    function = _Function("".join(linecache.getlines(file)), frame.f_globals)
    values = {name: value for name, value in frame.f_locals.items() if isinstance(value, int)}
    tensors = {
        name: value for name, value in frame.f_locals.items() if isinstance(value, tl.tensor)
    }
    code = frame.f_code
    parameters = code.co_varnames[: code.co_argcount]
    types = {name: _type(tensors[name].dtype) for name in parameters if name in tensors}
    own = next((words for pattern, words in _OWN if re.search(pattern, message)), None)
    return own or hints.hint(Context(message, _statement(file, line), function, values, types))


def _innermost(error: BaseException) -> tuple[FrameType, int] | None:
    """Return the user's frame where an error came from, and its line."""
    walked = [place for place in traceback.walk_tb(error.__traceback__) if _is_users(place[0])]
    return walked[-1] if walked else None


def _is_users(frame: FrameType) -> bool:
    return file_in_kernel(frame.f_code.co_filename) is not None


def _statement(file: str, line: int) -> ast.AST:
    """Return the innermost statement at a line of a file, an empty module where there is none."""
    found: ast.AST = ast.Module([], [])
    for node in ast.walk(ast.parse("".join(linecache.getlines(file)))):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or line):
            found = node
    return found


def _type(kind: Any) -> str:
    return f"*{kind.element_ty}" if kind.is_ptr() else str(kind)


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
    reraise_memory_error(error)
    root = _root(error)
    if environment.was_refused(root):
        message = refusal_of(wording.cleaned(repr(root)))
        return of_code(error, environment.SLUG, message, environment.HINT)
    if missing_ops.is_missing(root):
        return of_code(error, "needs_gpu", missing_ops.words(root), _ADVICE)
    undefined = _UNDEFINED.match(str(root))
    for dropped in loaded.dropped:
        if undefined and undefined[1] in dropped.names:
            return module_errors.of_definition(dropped, undefined[1], loaded.dropped)
    message = _CAST.sub(r"cannot cast this tensor to \1", wording.cleaned(repr(root)))
    if not root.args and _raised_at(root) is not None:
        message = f"{type(root).__name__} was raised"
    if any(last.name == _STATIC_ASSERT for last in _mistake_innermost(root)):
        message = f"tl.static_assert failed: {root}" if str(root) else "tl.static_assert failed"
    if undefined:
        hint = name_errors.advice_on_name(undefined[1], set())
    elif _CALLED.search(message):
        hint = "Is a comma or an operator missing between two parentheses?"
    else:
        hint = advice(root, message)
    return of_code(error, "compile_error", message, hint)


def refusal_of(message: str) -> str:
    """Return what is said of an error (`message`) that the sandbox's refusal came as."""
    return f"the sandbox refused what this calls: {message}"


def reraise_memory_error(error: BaseException) -> None:
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


def _mistake_innermost(root: BaseException) -> traceback.StackSummary:
    """Return the one frame that raised `root`, none if nobody raised it."""
    return traceback.extract_tb(root.__traceback__, limit=-1)


def _raised_at(root: BaseException) -> tuple[str, int] | None:
    """Return file and line of the user's own code that raised `root`, `None` if Triton did."""
    for last in _mistake_innermost(root):
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
    summary: traceback.FrameSummary, severity: Severity, message: str, hint: str | None = None
) -> Diagnostic:
    line = summary.lineno or 1
    span = Span(file_in_kernel(summary.filename) or "user.py", line)
    shown = excerpt(linecache.getlines(summary.filename), span)
    return diagnostic(severity, "frontend", message, hint=hint, span=span, excerpt=shown)
