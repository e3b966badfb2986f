"""What the names of a module were imported as, from its syntax tree alone."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Imported:
    """What a name was imported as: `from triton.math import exp` is `triton`, `math.exp`."""

    root: str
    path: tuple[str, ...]
    module: str = ""
    """The module that was asked for, with its dots."""


def imports(body: Iterable[ast.stmt]) -> Iterator[tuple[str, Imported]]:
    """Yield what the imports among statements, and in blocks of theirs, bind."""
    for node in body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                root, *path = alias.name.split(".")
                meant = Imported(root, tuple(path) if alias.asname else (), alias.name)
                yield alias.asname or root, meant
        elif isinstance(node, ast.ImportFrom):
            root, *path = (node.module or "").split(".") if not node.level else ["."]
            module = "." * node.level + (node.module or "")
            for alias in node.names:
                yield alias.asname or alias.name, Imported(root, (*path, alias.name), module)
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for field in ("body", "orelse", "finalbody", "handlers", "cases"):
                blocks = getattr(node, field, [])
                yield from imports([part for part in blocks if isinstance(part, ast.stmt)])
                for part in blocks:
                    if not isinstance(part, ast.stmt):
                        yield from imports(part.body)
