"""Stands in for torch where it is not installed, so that annotations can mention it.

Nothing is computed with it: what would need a real answer raises, and is left out.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import types
from typing import Any

import triton.language as tl

LIBRARY = "torch"


class Absent:
    """Something of a library that is not here: it can be named and called, but decides nothing."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> Absent:
        if name.startswith("_"):
            raise AttributeError(name)
        return Absent(f"{self.__name__}.{name}")

    def __call__(self, *arguments: Any, **named: Any) -> Absent:
        """Return something absent. Raises `TypeError` for a kernel's values."""
        if any(isinstance(value, tl.core.base_value) for value in (*arguments, *named.values())):
            message = f"{self.__name__} cannot be used inside a kernel: it runs on the host"
            raise TypeError(message)
        return Absent(f"{self.__name__}()")

    def __bool__(self) -> bool:
        message = f"{self.__name__} is not known here: {LIBRARY} is not installed"
        raise TypeError(message)

    def __repr__(self) -> str:
        return f"<{self.__name__}, which is not installed>"


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the stand-in, and its submodules, after every other finder has given up."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> Any:
        """Return a spec for the library and what is under it."""
        del path, target
        if fullname.partition(".")[0] != LIBRARY:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def exec_module(self, module: types.ModuleType) -> None:
        """Fill the module: every attribute is absent, but for versions that code branches on."""
        name = module.__name__
        if name == LIBRARY:
            vars(module)["version"] = types.SimpleNamespace(hip=None, cuda=None)
            vars(module)["Tensor"] = type("Tensor", (), {})

        def absent(attribute: str) -> Absent:
            if attribute.startswith("__"):
                raise AttributeError(attribute)
            return Absent(f"{name}.{attribute}")

        vars(module)["__getattr__"] = absent
