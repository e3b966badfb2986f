"""Triton's modules as user code finds them: executed once more, hidden, or passed on by packages.

Packages load Triton's modules through their `spec.loader.exec_module`, or wrap one of its functions
again, for which Triton reads its text: neither reads a file here. Installed libraries are hidden
from imports, so that what a source finds is the same in every worker. Packages that hand out
empty stand-ins for Triton where there is no GPU get the real modules, and what a posted file really
defines under such a name stays what it is.
"""

import ast
import importlib
import importlib.abc
import linecache
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from compiler.back import triton_api
from compiler.reading.jit_decorator import module_of


@contextmanager
def absence(library: str) -> Iterator[None]:
    """Let imports of `library` fail in the block, as if it were not installed."""
    modules: dict[str, Any] = sys.modules
    modules[library] = None
    try:
        yield
    finally:
        del modules[library]


def one_by_one(node: ast.ImportFrom) -> list[ast.ImportFrom]:
    """Split `from a import b, tl`, so that a missing `b` does not affect `tl`."""
    passed_on = [alias for alias in node.names if module_of(node, alias)]
    others = [alias for alias in node.names if alias not in passed_on]
    groups = [[alias] for alias in passed_on] + ([others] if others else [])
    return [
        ast.copy_location(ast.ImportFrom(node.module, names, node.level), node) for names in groups
    ]


def stand_in(statement: ast.stmt, namespace: dict[str, Any]) -> frozenset[str]:
    """Bind Triton's modules where `statement` imported something else under their names, or failed.

    Returns the names that were bound.
    """
    bound = set()
    for alias in statement.names if isinstance(statement, ast.ImportFrom) else []:
        assert isinstance(statement, ast.ImportFrom)
        module, name = module_of(statement, alias), alias.asname or alias.name
        if module is not None and not is_real(namespace.get(name)):
            namespace[name] = importlib.import_module(module)
            bound.add(name)
    return frozenset(bound)


def is_real(value: object) -> bool:
    """Return whether a value is the requested one, not a replacement for it.

    That is a module as Python imported it, and whatever a kernel can use: constants, functions,
    types; of classes those that hold such things.
    """
    if isinstance(value, types.ModuleType):
        return sys.modules.get(value.__name__) is value
    if isinstance(value, type):
        return any(_is_usable(item) for name, item in vars(value).items() if name[:2] != "__")
    return _is_usable(value)


def _is_usable(value: object) -> bool:
    return isinstance(value, (*triton_api.USABLE, types.FunctionType))


class ReexecutingLoader(importlib.abc.Loader):
    """Gives a new module the names that its first execution made."""

    def __init__(self, first: types.ModuleType) -> None:
        self._first = first

    def exec_module(self, module: types.ModuleType) -> None:
        """Copy all attributes except a module's identity."""
        names = vars(self._first).items()
        vars(module).update({n: v for n, v in names if n not in {"__spec__", "__loader__"}})


def keep(package: str) -> None:
    """Have every module of `package` that is imported by now be executed again from memory."""
    for name, module in list(sys.modules.items()):
        spec = getattr(module, "__spec__", None)
        if name.partition(".")[0] == package and spec is not None and spec.name == name:
            spec.loader = ReexecutingLoader(module)


def keep_texts(package: str) -> None:
    """Keep the lines of every module of `package` that is imported by now; reads their files."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and file.endswith(".py") and f"{name}.".startswith(f"{package}."):
            lines = linecache.getlines(file)
            linecache.cache[file] = (sum(map(len, lines)), None, lines, file)  # no mtime: for good
