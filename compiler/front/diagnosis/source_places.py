"""The place a message is really about, where Triton only names the statement around it.

Where in the user's text a front-end error happened: the chain of inlined calls.
"""

import ast
import linecache
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from compiler.back import triton_api
from compiler.diagnostic import Diagnostic, Severity, Span, diagnostic, excerpt, file_in_kernel


@dataclass(frozen=True)
class CallFrame:
    """One level of a chain of inlined calls: its jit function, if known, and the node it was at."""

    function: Any
    node: ast.AST
    error_message: str | None

    @property
    def path(self) -> str | None:
        """The path of the file the function was defined in."""
        return triton_api.definition_path(self.function) if self.function is not None else None

    @property
    def is_users(self) -> bool:
        """True if the frame is in the user's own code."""
        return self.path is not None and file_in_kernel(self.path) is not None

    def span(self, node: ast.AST | None = None) -> Span | None:
        """Return the location of `node` (by default the frame's own) in the user's file."""
        node = node or self.node
        if not self.is_users or self.path is None:
            return None
        start = getattr(node, "lineno", 1)
        first = triton_api.definition_line(self.function) - 1
        lines = linecache.getlines(self.path)
        end = getattr(node, "end_lineno", None) or start
        return Span(
            file_in_kernel(self.path) or "user.py",
            first + start,
            self._column(lines, first + start, start, getattr(node, "col_offset", 0)),
            first + end,
            self._column(lines, first + end, end, getattr(node, "end_col_offset", 1) or 1),
        )

    def _column(self, lines: list[str], file_line: int, own_line: int, offset: int) -> int:
        """Turn a byte offset in the dedented function into a 1-based column of the file."""
        own = self.function.src.split("\n")
        dedented = own[own_line - 1] if own_line <= len(own) else ""
        in_file = lines[file_line - 1].rstrip("\n") if file_line <= len(lines) else dedented
        removed = max(len(in_file) - len(dedented), 0)
        return removed + len(dedented.encode()[:offset].decode(errors="replace")) + 1

    def diagnostic(
        self,
        severity: Severity,
        message: str,
        *,
        hint: str | None = None,
        node: ast.AST | None = None,
    ) -> Diagnostic:
        """Return a diagnostic at this frame, or at `node` in its function."""
        span = self.span(node)
        shown = excerpt(linecache.getlines(str(self.path)), span) if span else None
        return diagnostic(severity, "frontend", message, hint=hint, span=span, excerpt=shown)


def chain(error: BaseException) -> tuple[list[CallFrame], BaseException | None]:
    """Return the frames of a CompilationError, outermost first, and the exception at the bottom."""
    frames: list[CallFrame] = []
    functions = list(triton_api.jit_functions())
    for link in _links(error):
        if not isinstance(link, triton_api.CompilationError):
            return frames, link
        function = next((f for f in functions if f.src == link.src), None)
        frames.append(CallFrame(function, link.node, link.error_message))
    return frames, None


def _links(error: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = error
    while link is not None:
        yield link
        link = link.__cause__


_CARRIED = re.compile(
    r"Loop-carried variable (\w+) has initial type|Loop carried variable (\w+) changed type"
)
_BRANCH = re.compile(r"initial value for `(\w+)` is of type|Mismatched type for (\w+) between")
_RETURNS = re.compile(r"Return type mismatch|Inconsistent return types")
_UNDEFINED = re.compile(r"^(\w+) is not defined")
_KEYWORD = re.compile(r"unexpected keyword argument '(\w+)'")


def closer(node: ast.AST, message: str) -> ast.AST:
    """Return the node to point at: the assignment, keyword, return or condition in question."""
    if match := _CARRIED.search(message) or _BRANCH.search(message):
        name = next(group for group in match.groups() if group)
        return next(reversed(list(assignments(node, name))), None) or header(node)
    if _RETURNS.search(message):
        return next(reversed(_returns(node)), None) or header(node)
    if (match := _KEYWORD.search(message)) and isinstance(node, ast.Call):
        return next((k for k in node.keywords if k.arg == match[1]), node)
    return header(node)


def related(function: ast.AST, node: ast.AST, message: str) -> list[tuple[ast.AST, str]]:
    """Return further places worth a note: a variable's first type, the other returns."""
    if match := _CARRIED.search(message) or _BRANCH.search(message):
        name = next(group for group in match.groups() if group)
        first = first_assignment(function, name, before=getattr(node, "lineno", 0))
        return [(first, f"{name!r} gets its first type here")] if first else []
    if match := _UNDEFINED.match(message):
        assigned = next(iter(assignments(function, match[1])), None)
        elsewhere = getattr(assigned, "lineno", 0) != getattr(node, "lineno", 0)
        return [(assigned, f"{match[1]!r} gets a value here")] if assigned and elsewhere else []
    if _RETURNS.search(message):
        return [(inner, "another return is here") for inner in _returns(node)[:-1]]
    return []


def _returns(node: ast.AST) -> list[ast.Return]:
    returns = [inner for inner in ast.walk(node) if isinstance(inner, ast.Return)]
    return sorted(returns, key=lambda inner: inner.lineno)


def assignments(node: ast.AST, name: str) -> Iterator[ast.AST]:
    """Return the statements in `node` that assign to `name`, in order."""
    for inner in ast.walk(node):
        targets = getattr(inner, "targets", None) or [getattr(inner, "target", None)]
        if isinstance(inner, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and any(
            isinstance(part, ast.Name) and part.id == name
            for target in targets
            if target is not None
            for part in ast.walk(target)
        ):
            yield inner


def first_assignment(function: ast.AST, name: str, before: int) -> ast.AST | None:
    """Return the last assignment to `name` above line `before` of the function's own text."""
    above = [a for a in assignments(function, name) if getattr(a, "lineno", 0) < before]
    return max(above, key=lambda a: getattr(a, "lineno", 0), default=None)


def header(node: ast.AST) -> ast.AST:
    """Return what decides a compound statement: a condition, an iterator, a first line."""
    if isinstance(node, (ast.If, ast.While, ast.IfExp)):
        return node.test
    if isinstance(node, ast.For):
        return node.iter
    if isinstance(node, ast.Try):
        return _first_line(node, "try:")
    if isinstance(node, ast.FunctionDef):
        return _first_line(node, f"def {node.name}")
    return node


def _first_line(node: ast.stmt, text: str) -> ast.AST:
    place = ast.Pass()
    place.lineno = place.end_lineno = node.lineno
    place.col_offset, place.end_col_offset = node.col_offset, node.col_offset + len(text)
    return place
