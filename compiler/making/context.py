"""What is known where a front-end error happened; read by the hints. Must not decide anything."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Match = re.Match[str]


@dataclass(frozen=True)
class Context:
    """What is known where an error happened: node, function, the kernel's constexprs and types."""

    message: str
    node: ast.AST
    function: Any
    values: Mapping[str, Any]
    types: Mapping[str, Any]

    @property
    def tree(self) -> ast.AST:
        """The syntax tree of the function, with its own line numbers."""
        return ast.parse(self.function.src) if self.function is not None else self.node

    @property
    def globals(self) -> Mapping[str, Any]:
        """The module-level names that the function sees."""
        return self.function.__globals__ if self.function is not None else {}


Advice = Callable[[Match, Context], str | None]
