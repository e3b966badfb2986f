"""The statements at module level that raised and were left out: their names, places and causes."""

import ast
import re
import sys
import traceback
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from compiler.diagnostic import KERNEL_FOLDER, USER_FILE, Span, file_in_kernel
from compiler.front.diagnosis import import_errors
from compiler.reading.scopes import stored

HOST_LIBRARIES = frozenset({"torch", "numpy", "jax", "cupy"})
UNDEFINED = re.compile(r"^(?:name ')?(\w+)'? is not defined")
_NOT_IMPORTED = re.compile(r"^cannot import name '(\w+)' from .*\(/kernel/")


@dataclass(frozen=True)
class DroppedStatement:
    """A statement that raised and was left out, with the names it would have defined."""

    path: str
    line: int
    names: frozenset[str]
    error: Exception

    @property
    def span(self) -> Span:
        """The innermost place in the user's files at which it raised."""
        span = Span(file_in_kernel(self.path) or USER_FILE, self.line)
        for summary in traceback.extract_tb(self.error.__traceback__, limit=-50):
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
        return span


def dropped_statement(
    path: str, statement: ast.stmt, error: BaseException, loses: Collection[str] | None
) -> DroppedStatement:
    """Return what is left out for `error`; `loses` replaces the names that the statement binds."""
    kept = _with_text(error).with_traceback(error.__traceback__)
    names = stored([statement]) if loses is None else loses
    return DroppedStatement(path, statement.lineno, frozenset(names), kept)


def _with_text(error: BaseException) -> Exception:
    """Return `error`, or an equivalent one that can be reported."""
    try:
        words = str(error)
    except BaseException as raised:  # noqa: BLE001 - it is the user's own __str__
        words = f"its text cannot be made, which raised {type(raised).__name__}"
    else:
        if isinstance(error, Exception):
            return error
    return RuntimeError(f"{type(error).__name__}: {words}")


def chain_of(
    dropped: DroppedStatement, name: str, others: Sequence[DroppedStatement]
) -> list[tuple[DroppedStatement, str]]:
    """Return the statements that raised, each because of the next, with the name each lacks."""
    chain = [(dropped, name)]
    while len(chain) <= len(others):
        last = chain[-1][0]
        wanted = _lacked(last.error)
        raised_in = KERNEL_FOLDER + last.span.file
        path = last.error.path if isinstance(last.error, ImportError) else raised_in
        there = [other for other in others if other.path == path]
        rest = [other for other in there if all(other is not known for known, _ in chain)]
        named = (other for other in rest if wanted in other.names)
        # a star import may have brought any name
        cause = next(named, next((other for other in rest if wanted and "*" in other.names), None))
        if cause is None:
            break
        chain.append((cause, wanted))
    return chain


def _lacked(error: Exception) -> str:
    """Return the undefined name that a statement needs and another should have defined."""
    pattern = {NameError: UNDEFINED, ImportError: _NOT_IMPORTED}.get(type(error))
    match = pattern.match(str(error)) if pattern else None
    return match[1] if match else ""


def modules_lacked(dropped: DroppedStatement, others: Sequence[DroppedStatement]) -> list[str]:
    """Return the modules to post where a statement raised only for want of them; else none.

    `others` are the statements that raised before it.
    """
    cause, _ = chain_of(dropped, "", others)[-1]
    error = cause.error
    if not isinstance(error, ImportError):
        return []
    is_module = isinstance(error, ModuleNotFoundError) and error.name is not None
    if not is_module and import_errors.missing_submodule(error, cause.span) is None:
        return []
    if str(error.name).partition(".")[0] in HOST_LIBRARIES | sys.stdlib_module_names:
        return []
    return import_errors.needs_of(error, cause.span)


def removed_module(dropped: DroppedStatement, others: Sequence[DroppedStatement]) -> str | None:
    """Return the module of Triton for whose lack a statement raised: this version has none."""
    error = chain_of(dropped, "", others)[-1][0].error
    name = error.name if isinstance(error, ModuleNotFoundError) else None
    return name if name is not None and name.startswith("triton.") else None
