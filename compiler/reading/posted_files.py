"""The further files of a request that a source imports, and the jit functions taken from them.

As far as their texts show: reads syntax only, executes nothing.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import PurePosixPath

from compiler.posted_text import python_text
from compiler.reading.jit_decorator import Aliases

PACKAGE = "kernel"
"""The name of the package that the uppermost folder is, for imports that climb up to it."""

_BESIDE = "here"
_RELATIVE = re.compile(r"\bfrom[\s\\]*\.")


def folder_of(module: str | None) -> tuple[str, ...]:
    """Return the folder that a posted source named `pkg.sub.mod` is in: `("pkg", "sub")`."""
    return tuple((module or "").split(".")[:-1])


def source_folder(text: str, files: Mapping[str, str]) -> tuple[str, ...]:
    """Return the folder of `text` in which its relative imports find `files`.

    The source is posted without a path; `from ..words import f` finds `package/words.py` from any
    folder of `package`. Without such imports, it is next to the uppermost files: `()`.
    """
    relative = [node for node in _import_froms(text) if node.level]
    if not relative or not files:
        return ()
    folders = {path.parts for name in files for path in PurePosixPath(name).parents}
    climb = max(node.level for node in relative) - 1
    candidates = {(*folder, *[_BESIDE] * depth) for folder in folders for depth in range(climb + 1)}
    counts = {folder: _files_found(relative, folder, files) for folder in candidates}
    return min(candidates, key=lambda folder: (-counts[folder], len(folder), folder))


def root_package(files: Mapping[str, str]) -> str:
    """Return `PACKAGE`, or a name like it when a file or folder is called so itself."""
    tops = {name.split("/")[0].removesuffix(".py") for name in files}
    name = PACKAGE
    while name in tops:
        name += "_"
    return name


def package_of(text: str, files: Mapping[str, str], root: str = PACKAGE) -> str:
    """Return the dotted package that `text` is a module of: none without relative imports.

    `root` is the name of the uppermost folder, for imports that climb up to it.
    """
    if not _RELATIVE.search(text):
        return ""  # without reading the text, which takes as long as to execute it
    climb = max((node.level for node in _import_froms(text)), default=0)
    if not climb:
        return ""
    folder = source_folder(text, files)
    return ".".join(folder if 0 < climb <= len(folder) else (root, *folder))


def _files_found(
    nodes: list[ast.ImportFrom], folder: tuple[str, ...], files: Mapping[str, str]
) -> int:
    """Return the number of imports that find a file from `folder`."""
    modules = (_modules(node, folder) for node in nodes if node.level <= len(folder) + 1)
    return sum(any(_file_of(module) & files.keys() for module in names) for names in modules)


def _file_of(module: str) -> set[str]:
    path = module.replace(".", "/")
    return {f"{path}.py", f"{path}/__init__.py"}


def _import_froms(source: str) -> list[ast.ImportFrom]:
    return [node for node in _nodes(source) if isinstance(node, ast.ImportFrom)]


def _nodes(source: str) -> Iterator[ast.AST]:
    try:
        return ast.walk(ast.parse(python_text(source)))
    except SyntaxError:
        return iter(())  # importing it will report it, with its line


def _modules(node: ast.ImportFrom, folder: tuple[str, ...]) -> set[str]:
    above = folder[: len(folder) - (node.level - 1)] if node.level else ()
    base = ".".join([*above, *([node.module] if node.module else [])])
    return {base, *(f"{base}.{alias.name}".lstrip(".") for alias in node.names)}


_MAX_STEPS = 8


def jit_functions(source: ast.Module, files: dict[str, str], folder: tuple[str, ...]) -> list[str]:
    """Return the names by which `source`, a file in `folder`, knows jit functions of `files`."""
    imported = _imports(source, "/".join(folder), files)
    return [name for name, path, origin in imported if _is_jit(path, origin, files)]


def _is_jit(path: str, name: str, files: dict[str, str], steps: int = 0) -> bool:
    """Return whether the file makes `name` with a jit decorator, or imports one that is."""
    tree = _parsed(files[path])
    if name in _decorated(files[path]) or steps == _MAX_STEPS:
        return name in _decorated(files[path])
    passed = _imports(tree, path.rpartition("/")[0], files)
    return any(
        _is_jit(at, origin, files, steps + 1) for known, at, origin in passed if known == name
    )


def helpers(
    source: ast.Module, files: dict[str, str], folder: tuple[str, ...]
) -> dict[str, tuple[ast.FunctionDef, Aliases]]:
    """Return the functions that a source imports from posted files by their names in the source.

    Each comes with the aliases of its file. `folder` is that of the source.
    """
    modules = {}
    for name, path, origin in _imports(source, "/".join(folder), files):
        for _ in range(_MAX_STEPS):
            tree = _parsed(files[path])
            made = next((n for n in tree.body if _is_function(n, origin)), None)
            if isinstance(made, ast.FunctionDef):
                modules[name] = made, Aliases(tree)
                break
            passed = _imports(tree, path.rpartition("/")[0], files)
            path, origin = next(((at, o) for n, at, o in passed if n == origin), (path, ""))
    return modules


def _is_function(node: ast.stmt, name: str) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name == name


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
        return ast.parse(python_text(text))
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])  # compiling a kernel that needs it reports it, with the line


@lru_cache
def _decorated(text: str) -> frozenset[str]:
    tree = _parsed(text)
    aliases = Aliases(tree)
    jitted = [node for node in tree.body if aliases.decorator_of(node) is not None]
    return frozenset(node.name for node in jitted if isinstance(node, ast.FunctionDef))


def _imports(
    tree: ast.Module, folder: str, files: dict[str, str]
) -> Iterator[tuple[str, str, str]]:
    """Yield (name, path, name there) for every name imported from a posted module.

    `import *` brings the functions that the module defines.
    """
    for node in tree.body:
        if not isinstance(node, ast.ImportFrom):
            continue
        path = _path_of(_module_of(node, folder), files)
        for alias in node.names if path else ():
            if alias.name == "*":
                defined = (n for n in _parsed(files[str(path)]).body if hasattr(n, "name"))
                yield from ((n.name, str(path), n.name) for n in defined)
            else:
                yield alias.asname or alias.name, str(path), alias.name
