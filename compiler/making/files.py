"""Which of a request's further files a slice imports, directly or through one another."""

from __future__ import annotations

import ast
from pathlib import PurePosixPath


def reached_files(text: str, files: dict[str, str]) -> dict[str, str]:
    """Return those of `files` that `text` imports, directly or not, and `__init__.py` files."""
    reached: dict[str, str] = {}
    waiting = [("user.py", text)] if files else []
    while waiting:
        path, source = waiting.pop()
        for module in _imported(source, PurePosixPath(path).parent):
            for name in _paths(module):
                if name in files and name not in reached:
                    reached[name] = files[name]
                    waiting.append((name, files[name]))
    return dict(sorted(reached.items()))


def _imported(source: str, folder: PurePosixPath) -> set[str]:
    """Return the dotted modules that a text may import: `from a import b` may mean `a` or `a.b`."""
    found: set[str] = set()
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return found  # importing it will say so, with its line
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(
                [*_climbed(folder, node.level), *([node.module] if node.module else [])]
            )
            found |= {base, *(f"{base}.{alias.name}".lstrip(".") for alias in node.names)}
    return found


def _climbed(folder: PurePosixPath, level: int) -> tuple[str, ...]:
    if not level:
        return ()
    parts = folder.parts
    return parts[: len(parts) - (level - 1)]


def _paths(module: str) -> list[str]:
    parts = module.split(".")
    prefixes = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    return [path for prefix in prefixes for path in (f"{prefix}.py", f"{prefix}/__init__.py")]
