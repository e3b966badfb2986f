"""Turns what user code and Triton's front end raised into diagnostics at the user's own lines."""

from __future__ import annotations

import ast
import dataclasses
import linecache
import os
import re
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any

from compiler.excerpt import KERNEL_FOLDER, Diagnostic, Span, diagnostic, excerpt, file_in_kernel
from compiler.making import frames, hints, imports, naming, places, refusal, syntax, wording
from compiler.making.constructs import CONSTRUCTS
from compiler.making.context import Context
from compiler.making.failure import Failure
from compiler.making.frames import Frame
from compiler.making.module import Dropped, Loaded
from compiler.making.specialization import Specialization

_UNDEFINED = re.compile(r"^(?:name ')?(\w+)'? is not defined")
_NOT_IMPORTED = re.compile(r"^cannot import name '(\w+)' from .*\(/kernel/")
_UNSUPPORTED = re.compile(r"unsupported AST node type: (\w+)")
_ABSENT = re.compile(r"'Absent'|is not known here: torch")
_HOST_LIBRARIES = frozenset({"torch", "numpy", "jax", "cupy"})
_MOST_NOTES = 20


def of_compilation(
    error: BaseException, loaded: Loaded, function: Any, specialization: Specialization
) -> Failure:
    """Return the failure for what the front end raised.

    Raises `MemoryError` if that is at its root.
    """
    found, root = frames.chain(error)
    if isinstance(root, MemoryError) or any("MemoryError" in (f.said or "")[:12] for f in found):
        raise MemoryError
    if not found:
        message = wording.told(error)
        return Failure(
            "compile_error", "frontend", message, [diagnostic("error", "frontend", message)]
        )
    if found[0].function is None:  # the outermost frame is the kernel's, whatever its text says
        found[0] = dataclasses.replace(found[0], function=function)
    message = _message(found, root, error)
    shown = next((frame for frame in reversed(found) if frame.is_users), found[0])
    if refusal.was_refused(root):
        return _refused(message, shown, found)
    undefined = _UNDEFINED.match(message)
    for dropped in loaded.dropped:
        if undefined and undefined[1] in dropped.names:
            return _caused_by(dropped, undefined[1], shown, loaded.dropped)
    return _failure(message, shown, found, function, specialization)


def _refused(message: str, shown: Frame, found: list[Frame]) -> Failure:
    said = f"the sandbox refused what this calls: {message}"
    error = shown.diagnostic("error", said, hint=refusal.HINT)
    return Failure(refusal.SLUG, "frontend", said, [error, *_calls(found, shown)])


def _failure(
    message: str, shown: Frame, found: list[Frame], function: Any, specialization: Specialization
) -> Failure:
    own = shown.function is function
    names = [parameter["name"] for parameter in specialization.parameters]
    types = {n: specialization.signature[n] for n in names} if own else {}
    values = {k[0]: v for k, v in specialization.constexprs.items() if len(k) == 1} if own else {}
    by_name = {function.arg_names[index]: value for index, value in values.items()}
    context = Context(message, shown.node, shown.function, by_name, types)
    node = places.closer(shown.node, message)
    error = shown.diagnostic("error", _worded(message), hint=hints.hint(context), node=node)
    notes = [
        shown.diagnostic("note", remark, node=place)
        for place, remark in places.related(context.tree, shown.node, message)
    ]
    place = f"line {error['line']}: " if error["line"] else ""
    return Failure(
        "compile_error",
        "frontend",
        place + _worded(message),
        [error, *notes, *_calls(found, shown)],
    )


def of_definition(dropped: Dropped, name: str, others: Sequence[Dropped] = ()) -> Failure:
    """Return the failure for a kernel, or a name it needs, whose definition raised.

    `others` are all statements that raised: when this one only missed a name of theirs, the failure
    is that of the first in the chain, with a note for each that followed from it.
    """
    *followed, root = _chain_of_definitions(dropped, name, others)
    cause, wanted = root
    error = cause.error
    unread = file_in_kernel(error.filename or "") if isinstance(error, SyntaxError) else None
    if isinstance(error, SyntaxError) and unread is not None:
        text = "".join(linecache.getlines(KERNEL_FOLDER + unread))
        return syntax.failure_of(error, text, unread)
    missing = _missing_module(error)
    message = wording.told(error)
    slug = "slice_incomplete" if missing and missing not in _HOST_LIBRARIES else "compile_error"
    slug = refusal.SLUG if refusal.was_refused(error) else slug
    found = _at_module_level(cause, "error", message, _definition_hint(cause))
    notes = [_at_module_level(d, "note", f"so {n!r} is missing", None) for d, n in followed]
    said = f"line {found['line']}: {message} (so {wanted!r} is missing)"
    return Failure(slug, "frontend", said, [found, *reversed(notes)])


def _chain_of_definitions(
    dropped: Dropped, name: str, others: Sequence[Dropped]
) -> list[tuple[Dropped, str]]:
    """Return the statements that raised, each because of the next, with the name each lacks."""
    chain = [(dropped, name)]
    while len(chain) <= len(others):
        wanted = _lacked(chain[-1][0].error)
        rest = [other for other in others if all(other is not known for known, _ in chain)]
        cause = next((other for other in rest if wanted in other.names), None)
        if cause is None:
            break
        chain.append((cause, wanted))
    return chain


def _lacked(error: Exception) -> str:
    """Return the name that a statement raised for, which another one should have made."""
    pattern = {NameError: _UNDEFINED, ImportError: _NOT_IMPORTED}.get(type(error))
    match = pattern.match(str(error)) if pattern else None
    return match[1] if match else ""


def of_dropped(loaded: Loaded) -> list[Diagnostic]:
    """Return a note for every statement that was left out because it raised."""
    notes = []
    for dropped in loaded.dropped[:_MOST_NOTES]:
        message = f"this statement was left out: {wording.told(dropped.error)}"
        notes.append(_at_module_level(dropped, "note", message[:500], None))
    return notes


def of_warnings(caught: Sequence[warnings.WarningMessage]) -> list[Diagnostic]:
    """Return a warning for each distinct one that Triton or user code gave."""
    found: list[Diagnostic] = []
    for warning in caught[:_MOST_NOTES]:
        file = file_in_kernel(warning.filename)
        span = Span(file, warning.lineno) if file and warning.lineno else None
        shown = excerpt(linecache.getlines(warning.filename), span) if span else None
        said = diagnostic(
            "warning", "frontend", str(warning.message)[:500], span=span, excerpt=shown
        )
        if said not in found:
            found.append(said)
    return found


def _message(found: list[Frame], root: BaseException | None, error: BaseException) -> str:
    said = next((frame.said for frame in reversed(found) if frame.said), None)
    if said is None or (said.startswith("at ") and root is not None):
        said = str(root) if root is not None else str(error)
    if type(error).__name__ == "CompileTimeAssertionFailure" or _is_static_assert(found[-1].node):
        return f"static assertion failed: {said}" if said else "static assertion failed"
    return wording.cleaned(said)


def _is_static_assert(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func).endswith("static_assert")


def _worded(message: str) -> str:
    if message == "unhashable type: 'tensor'":
        return "a tensor is called like a function"
    match = _UNSUPPORTED.search(message)
    if match is None:
        return message
    what = CONSTRUCTS[match[1]][0] if match[1] in CONSTRUCTS else f"this Python ({match[1]})"
    return f"{what} is not supported inside a kernel"


def _calls(found: list[Frame], shown: Frame) -> list[Diagnostic]:
    """Return notes for the calls that led to `shown`, innermost first."""
    position = found.index(shown)
    notes = []
    for frame in reversed(found[:position]):
        if frame.is_users:
            span = frame.span()
            where = f"{span.file}:{span.line}" if span else "?"
            notes.append(
                frame.diagnostic("note", f"called from {frame.function.__name__} at {where}")
            )
    return notes[:_MOST_NOTES]


def _caused_by(dropped: Dropped, name: str, used: Frame, others: Sequence[Dropped]) -> Failure:
    failure = of_definition(dropped, name, others)
    missing = _missing_module(dropped.error)
    if missing in _HOST_LIBRARIES and isinstance(used.node, ast.Name):
        message = f"{name} cannot be used inside a kernel: it runs on the host"
        hint = f"Use triton.language instead of {missing}, such as tl.exp or tl.sqrt."
        found = used.diagnostic("error", message, hint=hint)
        return Failure("compile_error", "frontend", f"line {found['line']}: {message}", [found])
    note = used.diagnostic("note", f"{name!r} is used here")
    return Failure(failure.slug, failure.stage, failure.message, [*failure.diagnostics, note])


def _missing_module(error: Exception) -> str | None:
    return (error.name or "").split(".")[0] if isinstance(error, ModuleNotFoundError) else None


def _raised_in(error: Exception) -> str:
    """Return the name of the module that raised `error`."""
    frames_of_error = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return str(frames_of_error[-1].f_globals.get("__name__")) if frames_of_error else ""


def _definition_hint(dropped: Dropped) -> str | None:
    error = dropped.error
    if refusal.was_refused(error):
        return refusal.HINT
    if isinstance(error, KeyError) and _raised_in(error) == os.__name__:
        return "No environment variable is set while a kernel is compiled: give a default."
    if isinstance(error, TypeError) and _ABSENT.search(str(error)):
        return (
            "torch is not there while a kernel is compiled, so it can tell no value: "
            "write the value into the source, or pass it in `constexprs`."
        )
    missing = _missing_module(error)
    if missing in sys.stdlib_module_names:
        return f"Python's {missing} is not there while a kernel is compiled: do without it."
    if missing in _HOST_LIBRARIES:
        return f"{missing} does not exist here: keep it out of what the kernel needs."
    if missing and isinstance(error, ImportError):
        return imports.missing_module(dropped, str(error.name))
    if isinstance(error, NameError) and (match := _UNDEFINED.match(str(error))):
        return naming.advice_on_name(match[1], set())
    if isinstance(error, ImportError):
        return imports.missing_name(error)
    return None


def _at_module_level(dropped: Dropped, severity: str, message: str, hint: str | None) -> Diagnostic:
    span = Span(file_in_kernel(dropped.path) or "user.py", dropped.line)
    for summary in traceback.extract_tb(dropped.error.__traceback__, limit=-50):
        file = file_in_kernel(summary.filename)
        if file is not None and summary.lineno:
            start = getattr(summary, "colno", None)
            end = getattr(summary, "end_colno", None)
            span = Span(
                file,
                summary.lineno,
                start + 1 if start is not None else None,
                getattr(summary, "end_lineno", None),
                end + 1 if end is not None else None,
            )
    shown = excerpt(linecache.getlines(KERNEL_FOLDER + span.file), span)
    return diagnostic(severity, "frontend", message, hint=hint, span=span, excerpt=shown)
