"""What to do about an error of the interpreter: the advice that the compiler's front end gives."""

from __future__ import annotations

import ast
import linecache
import re
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

import triton.language as tl

from compiler.excerpt import file_in_kernel
from compiler.making import hints
from compiler.making.context import Context

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
