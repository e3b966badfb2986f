"""Where in the user's text a front-end error happened: the chain of inlined calls."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from compiler.excerpt import Diagnostic, Span, diagnostic, excerpt, file_in_kernel
from compiler.making import toolchain


@dataclass(frozen=True)
class Frame:
    """One level of a chain of inlined calls: its jit function, if known, and the node it was at."""

    function: Any
    node: ast.AST
    said: str | None

    @property
    def path(self) -> str | None:
        """The path of the file the function was defined in."""
        return toolchain.definition_path(self.function) if self.function is not None else None

    @property
    def is_users(self) -> bool:
        """Whether the frame is in the user's own code."""
        return self.path is not None and file_in_kernel(self.path) is not None

    def span(self, node: ast.AST | None = None) -> Span | None:
        """Return where `node` (the frame's own if left out) stands in the user's file."""
        node = node or self.node
        if not self.is_users or self.path is None:
            return None
        start = getattr(node, "lineno", 1)
        first = toolchain.definition_line(self.function) - 1
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
        self, severity: str, message: str, *, hint: str | None = None, node: ast.AST | None = None
    ) -> Diagnostic:
        """Return a diagnostic at this frame, or at `node` in its function."""
        span = self.span(node)
        shown = excerpt(linecache.getlines(str(self.path)), span) if span else None
        return diagnostic(severity, "frontend", message, hint=hint, span=span, excerpt=shown)


def chain(error: BaseException) -> tuple[list[Frame], BaseException | None]:
    """Return the frames of a CompilationError, outermost first, and the exception at the bottom."""
    frames: list[Frame] = []
    functions = list(toolchain.jit_functions())
    for link in _links(error):
        if not isinstance(link, toolchain.CompilationError):
            return frames, link
        function = next((f for f in functions if f.src == link.src), None)
        frames.append(Frame(function, link.node, link.error_message))
    return frames, None


def _links(error: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = error
    while link is not None:
        yield link
        link = link.__cause__
