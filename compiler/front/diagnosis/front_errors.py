"""Turns what user code and Triton's front end raised into diagnostics at the user's own lines."""

import ast
import dataclasses
import linecache
import re
import warnings
from collections.abc import Sequence
from typing import Any

from compiler.diagnostic import Diagnostic, Failure, Span, diagnostic, excerpt, file_in_kernel
from compiler.front import environment
from compiler.front.ast_source import CompleteSpecialization
from compiler.front.diagnosis import block_pointers, hints, module_errors, source_places, wording
from compiler.front.diagnosis.block_pointers import Replacement
from compiler.front.diagnosis.context import RaisedContext, Rewording, operands, source_text
from compiler.front.diagnosis.hints import CONSTRUCTS
from compiler.front.diagnosis.internal_errors import reworded
from compiler.front.diagnosis.source_places import CallFrame
from compiler.front.dropped_statements import HOST_LIBRARIES, UNDEFINED, DroppedStatement
from compiler.front.module import Loaded
from compiler.slug import STATIC_ASSERT

_UNSUPPORTED = re.compile(r"unsupported AST node type: (\w+)")
_RECURSION = "RecursionError"
_MAX_NOTES = 20
_MAX_REPLACEMENTS = 40


def of_compilation(
    error: BaseException, loaded: Loaded, function: Any, specialization: CompleteSpecialization
) -> Failure:
    """Return the failure for an exception of the front end.

    Raises `MemoryError` if that is at its root.
    """
    frames, root = source_places.chain(error)
    if isinstance(root, MemoryError) or any(
        "MemoryError" in (f.error_message or "")[:12] for f in frames
    ):
        raise MemoryError
    if not frames:
        message = wording.words_of(error)
        return Failure(
            "compile_error", "frontend", message, [diagnostic("error", "frontend", message)]
        )
    if frames[0].function is None:  # the outermost frame is the kernel's, whatever its text is
        frames[0] = dataclasses.replace(frames[0], function=function)
    frames = _without_rounds(frames, root)
    message = _message(frames, root, error)
    shown = next((frame for frame in reversed(frames) if frame.is_users), frames[0])
    if environment.was_refused(root):
        return _refused(message, shown, frames)
    undefined = UNDEFINED.match(message)
    for dropped in sorted(loaded.dropped, key=lambda item: item.path != shown.path):
        if undefined and undefined[1] in dropped.names:
            return _caused_by(dropped, undefined[1], shown, loaded.dropped)
    for dropped in loaded.dropped:
        if undefined and "*" in dropped.names and dropped.path == shown.path:
            return _caused_by(dropped, undefined[1], shown, loaded.dropped)
    return _failure(message, shown, frames, root, function, specialization)


def _without_rounds(frames: list[CallFrame], root: BaseException | None) -> list[CallFrame]:
    """Return the frames up to the call that closes the circle, where a recursion never ended."""
    if not _is_recursion(frames, root):
        return frames
    for index, frame in enumerate(frames[1:], 1):
        if frame.function is not None and any(frame.function is f.function for f in frames[:index]):
            called = dataclasses.replace(frames[index - 1], error_message=_RECURSION)
            return [*frames[: index - 1], called]
    return frames


def _is_recursion(frames: list[CallFrame], root: BaseException | None) -> bool:
    return isinstance(root, RecursionError) or str(frames[-1].error_message).startswith(_RECURSION)


def _refused(message: str, shown: CallFrame, frames: list[CallFrame]) -> Failure:
    detail = f"the sandbox refused what this calls: {message}"
    error = shown.diagnostic("error", detail, hint=environment.HINT)
    return Failure(environment.SLUG, "frontend", detail, [error, *_calls(frames, shown)])


def _failure(
    message: str,
    shown: CallFrame,
    frames: list[CallFrame],
    root: BaseException | None,
    function: Any,
    specialization: CompleteSpecialization,
) -> Failure:
    own = shown.function is function
    types = specialization.runtime_types if own else {}
    values = {k[0]: v for k, v in specialization.constexprs.items() if len(k) == 1} if own else {}
    by_name = {function.arg_names[index]: value for index, value in values.items()}
    context = RaisedContext(message, shown.node, shown.function, by_name, types, operands(root))
    node = source_places.closer(shown.node, message)
    rewording = reworded(context) or Rewording(_worded(message), hints.hint(context))
    if rewording.hint is None and _is_static_assert(frames[-1].node) and not frames[-1].is_users:
        demanding = getattr(frames[-1].function, "__name__", "the function")
        rewording = Rewording(rewording.message, f"{demanding} of Triton's library demands it.")
    error = shown.diagnostic("error", rewording.message, hint=rewording.hint, node=node)
    notes = [
        shown.diagnostic("note", remark, node=place)
        for place, remark in source_places.related(context.tree, shown.node, message)
    ]
    notes += [
        shown.diagnostic("note", f"instead write:\n{item.text}", node=item.node)
        for item in _without_block_pointers(context)
        if not _is_in(context.node, item.node)
    ]
    place = f"line {error.line}: " if error.line else ""
    failure = Failure(
        "compile_error",
        "frontend",
        place + rewording.message,
        [error, *notes, *_calls(frames, shown)],
    )
    if _is_static_assert(frames[-1].node):
        failure.reason = STATIC_ASSERT
    return failure


def _without_block_pointers(context: RaisedContext) -> list[Replacement]:
    """Return the texts to write instead of block pointers, if those are what is missing."""
    if not block_pointers.REMOVED.search(context.message):
        return []
    return block_pointers.replacements(context.tree)[:_MAX_REPLACEMENTS]


def _is_in(node: ast.AST, outer: ast.stmt | ast.Call) -> bool:
    return outer.lineno <= getattr(node, "lineno", 0) <= (outer.end_lineno or outer.lineno)


def of_warnings(caught: Sequence[warnings.WarningMessage]) -> list[Diagnostic]:
    """Return a warning for each distinct one that Triton or user code gave."""
    notes: list[Diagnostic] = []
    for warning in caught[:_MAX_NOTES]:
        file = file_in_kernel(warning.filename)
        span = Span(file, warning.lineno) if file and warning.lineno else None
        shown = excerpt(linecache.getlines(warning.filename), span) if span else None
        note = diagnostic(
            "warning", "frontend", str(warning.message)[:500], span=span, excerpt=shown
        )
        if note not in notes:
            notes.append(note)
    return notes


def _message(frames: list[CallFrame], root: BaseException | None, error: BaseException) -> str:
    if _is_recursion(frames, root):
        node = frames[-1].node
        if isinstance(node, ast.Call) and frames[-1].is_users:
            return f"KeyError: {ast.unparse(node.func)}__"
        return _RECURSION
    words = next((frame.error_message for frame in reversed(frames) if frame.error_message), None)
    if words is None or (words.startswith("at ") and root is not None):
        words = str(root) if root is not None else str(error)
    if type(error).__name__ == "CompileTimeAssertionFailure" or _is_static_assert(frames[-1].node):
        words = wording.of_assertion(frames[-1].error_message) or _asserted(frames[-1].node)
        return f"static assertion failed: {words}" if words else "static assertion failed"
    return wording.cleaned(words)


def _asserted(node: ast.AST) -> str:
    return source_text(node.args[0]) if isinstance(node, ast.Call) and node.args else ""


def _is_static_assert(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func).endswith("static_assert")


def _worded(message: str) -> str:
    match = _UNSUPPORTED.search(message)
    if match is None:
        return message
    what = CONSTRUCTS[match[1]][0] if match[1] in CONSTRUCTS else f"this Python ({match[1]})"
    return f"{what} is not supported inside a kernel"


def _calls(frames: list[CallFrame], shown: CallFrame) -> list[Diagnostic]:
    """Return notes for the calls that led to `shown`, innermost first."""
    position = frames.index(shown)
    notes: list[Diagnostic] = []
    for frame in reversed(frames[:position]):
        if frame.is_users:
            span = frame.span()
            where = f"{span.file}:{span.line}" if span else "?"
            note = frame.diagnostic("note", f"called from {frame.function.__name__} at {where}")
            if note not in notes:
                notes.append(note)
    return notes[:_MAX_NOTES]


def _caused_by(
    dropped: DroppedStatement, name: str, used: CallFrame, others: Sequence[DroppedStatement]
) -> Failure:
    failure = module_errors.of_definition(dropped, name, others)
    missing = module_errors.missing_module(dropped.error)
    if missing in HOST_LIBRARIES and isinstance(used.node, ast.Name):
        message = f"{name} cannot be used inside a kernel: it runs on the host"
        hint = f"Use triton.language instead of {missing}, such as tl.exp or tl.sqrt."
        error = used.diagnostic("error", message, hint=hint)
        return Failure("compile_error", "frontend", f"line {error.line}: {message}", [error])
    note = used.diagnostic("note", f"{name!r} is used here")
    used_here = [*failure.diagnostics, note]
    caused = Failure(failure.slug, failure.stage, failure.message, used_here)
    caused.needs = failure.needs
    return caused
