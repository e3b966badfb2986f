"""The context of a front-end error: the node, its values, and Triton's inputs.

Read from an exception's traceback, for the hints; a version of Triton that names things otherwise
gives less. Must not decide anything.
"""

import ast
import inspect
import re
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import triton.language as tl

from compiler.front.diagnosis import wording

Match = re.Match[str]
_MAX_SOURCE_TEXT = 60


@dataclass(frozen=True)
class RaisedContext:
    """The context of an error: node, function, the kernel's constexprs and types.

    `operands` are the types of the values Triton's own function had when it raised.
    """

    message: str
    node: ast.AST
    function: Any
    values: Mapping[str, Any]
    types: Mapping[str, Any]
    operands: Mapping[str, str] = field(default_factory=dict)

    @property
    def tree(self) -> ast.AST:
        """The syntax tree of the function, with its own line numbers."""
        return ast.parse(self.function.src) if self.function is not None else self.node

    @property
    def globals(self) -> Mapping[str, Any]:
        """The module-level names that the function sees."""
        return self.function.__globals__ if self.function is not None else {}

    def value_of(self, node: ast.expr) -> Any:
        """Return the value of a literal, a constexpr or a module-level name, otherwise `None`."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self.values.get(node.id, self.globals.get(node.id))
        if isinstance(node, ast.Attribute):
            owner = self.value_of(node.value)
            return getattr(owner, node.attr, None) if inspect.ismodule(owner) else None
        return None


Advice = Callable[[Match, RaisedContext], str | None]


@dataclass(frozen=True)
class Rewording:
    """The error and its advice, for the author of the kernel."""

    message: str
    hint: str | None


def source_text(node: ast.AST) -> str:
    """Return the text of an expression, on one line and cut where it is long."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= _MAX_SOURCE_TEXT else f"{text[:_MAX_SOURCE_TEXT]}..."


_LANGUAGE = "triton.language."
_MAX_NAMES = 20


def operands(error: BaseException | None) -> dict[str, str]:
    """Return the types of the tensors that the function which raised `error` was looking at.

    Of the innermost function of triton.language that knows any: `{"lhs": "fp32[16, 32]", ...}`.
    """
    if error is None:
        return {}
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    for frame in reversed(frames):
        if str(frame.f_globals.get("__name__")).startswith(_LANGUAGE):
            tensors = _tensors(frame.f_locals)
            if tensors:
                return tensors
    return {}


def _tensors(values: Mapping[str, object]) -> dict[str, str]:
    names = [name for name, value in values.items() if isinstance(value, tl.tensor)]
    return {name: wording.cleaned(str(values[name].type)) for name in names[:_MAX_NAMES]}  # type: ignore[attr-defined]
