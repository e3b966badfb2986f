"""Lets user code execute Triton's modules once more, without reading their files.

Packages that look for a function in several versions of Triton load its modules through their
`spec.loader.exec_module`.
"""

from __future__ import annotations

import importlib.abc
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
