"""The text of a jit function that this process has, and of the modules that it uses.

Triton is not needed, and nothing is executed: what is loaded already is looked up.
"""

import ast
import importlib.util
import linecache
import sys
from collections.abc import Iterator
from pathlib import PurePosixPath
from types import ModuleType
from typing import Any

MAX_FILES = 64  # of one request


def text_of(function: Any) -> str:
    """Return the whole file of a jit function: its place in it is part of Triton's key.

    Raises OSError when there is no such text, as for a kernel typed into an interpreter.
    """
    path = function.fn.__code__.co_filename
    lines = linecache.getlines(path, function.fn.__globals__)
    if not lines:
        raise OSError(f"the text of {path} cannot be read")
    return "".join(lines)


def files_of(function: Any) -> dict[str, str]:
    """Return the texts of the modules that the file of a jit function imports, and so on.

    They are named as the imports find them from there: `helpers.py` for `from .helpers import f`
    and `pkg/helpers.py` for `from pkg.helpers import f`. Left out are modules that neither hold a
    jit function nor belong to the kernel's own package or folder.
    """
    names = function.fn.__globals__
    package = names.get("__package__") or ""
    own = _OwnModules(
        package.partition(".")[0], str(PurePosixPath(names.get("__file__") or "/").parent)
    )
    files: dict[str, str] = {}
    waiting = [(PurePosixPath(), package, text_of(function))]
    while waiting and len(files) < MAX_FILES:
        folder, package, text = waiting.pop()
        for path, module in _imported(text, folder, package):
            if str(path) not in files and own.has(module):
                files[str(path)] = _read(module)
                inner = str(module.__package__ or "")
                waiting.append((path.parent, inner, files[str(path)]))
    return files


class _OwnModules:
    """Which modules are the user's own, and not those of a library that the service has."""

    def __init__(self, package: str, folder: str) -> None:
        self._package = package
        self._folder = folder

    def has(self, module: ModuleType) -> bool:
        top = module.__name__.partition(".")[0]
        path = getattr(module, "__file__", None) or ""
        if top in sys.stdlib_module_names or top == "triton" or not path.endswith(".py"):
            return False
        if top == self._package or str(PurePosixPath(path).parent) == self._folder:
            return True
        return any(hasattr(value, "starting_line_number") for value in vars(module).values())


def _imported(
    text: str, folder: PurePosixPath, package: str
) -> Iterator[tuple[PurePosixPath, ModuleType]]:
    """Yield the loaded modules that `text` imports, with the path where the service looks.

    `folder` is where the text itself is for the service, `package` the package it is in here.
    """
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _found(alias.name, PurePosixPath(*alias.name.split(".")))
        elif isinstance(node, ast.ImportFrom):
            base, at = node.module or "", PurePosixPath()
            if node.level:
                if node.level - 1 > len(folder.parts) or not package:
                    continue
                at = PurePosixPath(*folder.parts[: len(folder.parts) - node.level + 1])
                base = importlib.util.resolve_name("." * node.level + base, package)
            at = at.joinpath(*(node.module or "").split("."))
            yield from _found(base, at)
            for alias in node.names:
                yield from _found(f"{base}.{alias.name}", at / alias.name)


def _found(name: str, path: PurePosixPath) -> Iterator[tuple[PurePosixPath, ModuleType]]:
    module = sys.modules.get(name)
    if module is not None and path.parts:
        is_package = hasattr(module, "__path__")
        yield path / "__init__.py" if is_package else path.with_name(path.name + ".py"), module


def _read(module: ModuleType) -> str:
    return "".join(linecache.getlines(module.__file__ or "", vars(module)))
