"""Finds the files of a package that a kernel needs, as a careful user would choose them."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAX_FILES = 60


def needed_files(root: Path, file: str, kernel: str) -> dict[str, str]:
    """Return the texts, by path, of the modules whose names the kernel uses, except `file`.

    Decorators above jit are not followed, since they act at launches.
    """
    texts: dict[str, str] = {}
    waiting: list[tuple[str, str | None]] = [(file, kernel)]
    seen = set(waiting)
    while waiting:
        path, name = waiting.pop(0)
        text = (root / path).read_text(errors="replace")
        if path != file and len(texts) < MAX_FILES:
            texts[path] = text
        for item in _reached(root, path, text, name):
            if item not in seen:
                seen.add(item)
                waiting.append(item)
    return dict(sorted(texts.items()))


def _reached(
    root: Path, path: str, text: str, name: str | None
) -> Iterator[tuple[str, str | None]]:
    """Yield the modules that `name` of a module (`None`: all of it) needs, with the used names."""
    binders: dict[str, list[_Statement]] = {}
    stars: list[_Statement] = []
    for statement in _statements(ast.parse(text).body, ()):
        for bound in _bound(statement.node):
            (stars if bound == "*" else binders.setdefault(bound, [])).append(statement)
    waiting = list(binders) if name is None else [name]
    seen = set(waiting)
    while waiting:
        wanted = waiting.pop()
        for statement in binders.get(wanted, stars):
            parts: list[ast.AST] = list(statement.tests)
            if isinstance(statement.node, (ast.Import, ast.ImportFrom)):
                yield from _modules(root, path, statement.node, wanted)
            else:
                parts += _parts(statement.node)
            new = {n.id for part in parts for n in ast.walk(part) if isinstance(n, ast.Name)}
            waiting += new - seen
            seen |= new


@dataclass(frozen=True)
class _Statement:
    """A statement that runs at import, and the conditions around it."""

    node: ast.stmt
    tests: tuple[ast.expr, ...]


def _statements(body: list[ast.stmt], tests: tuple[ast.expr, ...]) -> Iterator[_Statement]:
    for node in body:
        if isinstance(node, ast.If):
            yield from _statements([*node.body, *node.orelse], (*tests, node.test))
        elif isinstance(node, ast.Try):
            handled = [inner for handler in node.handlers for inner in handler.body]
            effects = [inner.value for inner in node.body if isinstance(inner, ast.Expr)]
            inside = [*node.body, *handled, *node.orelse, *node.finalbody]
            yield from _statements(inside, (*tests, *effects))
        else:
            yield _Statement(node, tests)


def _bound(node: ast.stmt) -> set[str]:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return {node.name}
    stored = (n for n in ast.walk(node) if isinstance(n, ast.Name))
    return {n.id for n in stored if isinstance(n.ctx, ast.Store)}


def _parts(node: ast.stmt) -> Iterator[ast.expr | ast.stmt | ast.arguments]:
    """Yield the evaluated parts of a statement: not the decorators of a jit function."""
    if isinstance(node, ast.FunctionDef) and any(
        "jit" in ast.unparse(d) for d in node.decorator_list
    ):
        yield from (
            node.args,
            *node.body,
            *(d for d in node.decorator_list if "jit" in ast.unparse(d)),
        )
    else:
        yield node


def _modules(
    root: Path, path: str, node: ast.Import | ast.ImportFrom, wanted: str
) -> Iterator[tuple[str, str | None]]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            if (alias.asname or alias.name).split(".")[0] == wanted:
                yield from ((file, None) for file in _file(root, alias.name.split(".")))
        return
    folder = list(Path(path).parent.parts)
    above = folder[: len(folder) - (node.level - 1)] if node.level else []
    base = [*above, *(node.module.split(".") if node.module else [])]
    for alias in node.names:
        if alias.name == "*":
            yield from ((file, wanted) for file in _file(root, base))
        elif (alias.asname or alias.name) == wanted:
            submodule = [(file, None) for file in _file(root, [*base, alias.name])]
            yield from submodule or [(file, alias.name) for file in _file(root, base)]


def _file(root: Path, parts: list[str]) -> Iterator[str]:
    for name in ("/".join(parts) + ".py", "/".join([*parts, "__init__.py"])):
        if parts and (root / name).is_file():
            yield name
            return
