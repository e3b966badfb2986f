"""Finds the project's modules that a module imports, directly or not, from source text."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]


def reached(names: Iterable[str]) -> set[str]:
    """Return `names` and all project modules that they import, including late imports."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        path = _path(name)
        if name not in found and path is not None:
            found.add(name)
            waiting += _imports(path)
    return found


def _path(name: str) -> Path | None:
    path = ROOT / name.replace(".", "/")
    return next((p for p in (path.with_suffix(".py"), path / "__init__.py") if p.exists()), None)


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
