"""The modules that a text imports, by their dotted names. It is parsed, never executed."""

import ast
import warnings
from collections.abc import Iterator

_MOST_CHARS = 1 << 20


def imported_names(text: str, module: str) -> set[str]:
    """Return what a module may import: of `from a import b` both `a` and `a.b`.

    `module` is its own dotted name, for relative imports. Invalid Python imports nothing.
    """
    if len(text) > _MOST_CHARS:
        return set()
    try:
        with warnings.catch_warnings(action="ignore"):  # about the user's own string literals
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    return {name for node in ast.walk(tree) for name in _names(node, module.split(".")[:-1])}


def _names(node: ast.AST, package: list[str]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.level <= len(package):
        above = package[: len(package) - node.level + 1] if node.level else []
        base = ".".join([*above, *([node.module] if node.module else [])])
        yield base
        yield from (f"{base}.{alias.name}" for alias in node.names)
