"""Jit functions that a source takes from the files beside it, as far as their texts say.

Reads syntax only, executes nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from compiler.making.jit import Aliases

_MOST_STEPS = 8


def jit_functions(source: ast.Module, files: dict[str, str]) -> list[str]:
    """Return the names by which `source` knows jit functions of `files`."""
    return [
        name for name, path, origin in _imports(source, "", files) if _is_jit(path, origin, files)
    ]


def _is_jit(path: str, name: str, files: dict[str, str], steps: int = 0) -> bool:
    """Return whether the file makes `name` with a jit decorator, or imports one that is."""
    tree = _parsed(files[path])
    if name in _decorated(files[path]) or steps == _MOST_STEPS:
        return name in _decorated(files[path])
    passed = _imports(tree, path.rpartition("/")[0], files)
    return any(
        _is_jit(at, origin, files, steps + 1) for known, at, origin in passed if known == name
    )


@lru_cache
def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])  # compiling a kernel that needs it says so, with the line


@lru_cache
def _decorated(text: str) -> frozenset[str]:
    tree = _parsed(text)
    aliases = Aliases(tree)
    jitted = [node for node in tree.body if aliases.decorator_of(node) is not None]
    return frozenset(node.name for node in jitted if isinstance(node, ast.FunctionDef))


def _imports(
    tree: ast.Module, folder: str, files: dict[str, str]
) -> Iterator[tuple[str, str, str]]:
    """Yield (name, path, name there) for every `from module import name` of a posted module."""
    for node in tree.body:
        if not isinstance(node, ast.ImportFrom):
            continue
        parts = folder.split("/") if folder and node.level else []
        parts = parts[: len(parts) - (node.level - 1)] if node.level else parts
        module = "/".join([*parts, *(node.module or "").split(".")]).strip("/")
        path = next((p for p in (f"{module}.py", f"{module}/__init__.py") if p in files), None)
        for alias in node.names if path else ():
            yield alias.asname or alias.name, str(path), alias.name
