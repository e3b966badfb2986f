"""Lets user code execute Triton's modules once more, without reading their files.

Packages that look for a function in several versions of Triton load its modules through their
`spec.loader.exec_module`. Others wrap one of its functions anew, for which Triton reads its text.
"""

from __future__ import annotations

import importlib.abc
import linecache
import sys
import types


class Again(importlib.abc.Loader):
    """Gives a new module the names that its first execution made."""

    def __init__(self, first: types.ModuleType) -> None:
        self._first = first

    def exec_module(self, module: types.ModuleType) -> None:
        """Copy all but what tells modules apart."""
        names = vars(self._first).items()
        vars(module).update({n: v for n, v in names if n not in {"__spec__", "__loader__"}})


def keep(package: str) -> None:
    """Have every module of `package` that is imported by now be executed again from memory."""
    for name, module in list(sys.modules.items()):
        spec = getattr(module, "__spec__", None)
        if name.partition(".")[0] == package and spec is not None and spec.name == name:
            spec.loader = Again(module)


def keep_texts(package: str) -> None:
    """Keep the lines of every module of `package` that is imported by now; reads their files."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and file.endswith(".py") and f"{name}.".startswith(f"{package}."):
            lines = linecache.getlines(file)
            linecache.cache[file] = (sum(map(len, lines)), None, lines, file)  # no mtime: for good
