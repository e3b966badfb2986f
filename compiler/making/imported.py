"""Jit functions that a source takes from the files beside it, as far as their texts say.

Reads syntax only, executes nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
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


def is_passed_on_from_elsewhere(
    module: str, name: str, files: Mapping[str, str], steps: int = 0
) -> bool:
    """Return whether a posted module only passes `name` on, from a module that is not here."""
    path = _path_of(module, files)
    if path is None or steps == _MOST_STEPS:
        return False
    for node in _parsed(files[path]).body:
        for alias in node.names if isinstance(node, ast.ImportFrom) else ():
            if (alias.asname or alias.name) == name and isinstance(node, ast.ImportFrom):
                origin = _module_of(node, path.rpartition("/")[0])
                if _path_of(f"{origin}.{alias.name}", files) is not None:
                    return False
                if _path_of(origin, files) is None:
                    return origin.split(".")[0] != "triton"
                return is_passed_on_from_elsewhere(origin, alias.name, files, steps + 1)
    return False


def _path_of(module: str, files: Mapping[str, str]) -> str | None:
    path = module.strip(".").replace(".", "/")
    return next((p for p in (f"{path}.py", f"{path}/__init__.py") if p in files), None)


def _module_of(node: ast.ImportFrom, folder: str) -> str:
    """Return the dotted module that an import in a file of `folder` asks for."""
    parts = folder.split("/") if folder and node.level else []
    parts = parts[: len(parts) - (node.level - 1)] if node.level else parts
    return ".".join([*parts, *(node.module or "").split(".")]).strip(".")


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
        path = _path_of(_module_of(node, folder), files)
        for alias in node.names if path else ():
            yield alias.asname or alias.name, str(path), alias.name
