"""The source of a jit function in this process, and of the modules that it uses.

Triton is not needed and nothing is executed: only loaded modules are looked up.
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
    """Return the whole file of a jit function: its line in the file is part of Triton's key.

    Raises OSError if there is no file, as for a kernel defined in an interactive interpreter.
    """
    path = function.fn.__code__.co_filename
    lines = linecache.getlines(path, function.fn.__globals__)
    if not lines:
        raise OSError(f"the text of {path} cannot be read")
    return "".join(lines)


def files_of(function: Any) -> dict[str, str]:
    """Return the modules that the file of a jit function imports, directly or not.

    Their names match the imports: `helpers.py` for `from .helpers import f` and
    `pkg/helpers.py` for `from pkg.helpers import f`. A module is left out if it holds no jit
    function and does not belong to the kernel's own package or folder.
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
    """Tells the user's own modules from those of libraries that the service has."""

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
    """Yield the loaded modules that `text` imports, with their paths for the service.

    `folder` is the folder of the text for the service, `package` its package in this process.
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
