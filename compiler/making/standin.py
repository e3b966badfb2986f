"""Stands in for torch, so that annotations, constants and conditions can mention it.

Knows dtypes and which machine is compiled for. Nothing is computed with it: what would need a real
answer raises, and is left out.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import types
from typing import Any

import triton.language as tl

from compiler.making import dtypes, machine, versions

LIBRARY = "torch"
VERSION = "2.13.0"

_PARTS = ("cuda", "version", "utils")
# what other makers' plug-ins add to torch: code asks for it to know whose machine it is on
_PLUGGED_IN = frozenset({"corex", "gcu", "hpu", "mlu", "musa", "npu", "ptpu", "txda"})
_OTHERS = {"packaging": (), "packaging.version": ("Version", "InvalidVersion", "parse")}


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
    """Imports the stand-ins, and their submodules, after every other finder has given up."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> Any:
        """Return a spec for torch and what is under it, and for `packaging.version`."""
        del path, target
        library, *parts = fullname.split(".")
        if library != LIBRARY and fullname not in _OTHERS:
            return None
        if parts and parts[0] in _PLUGGED_IN:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def exec_module(self, module: types.ModuleType) -> None:
        """Fill the module: every attribute is absent, but for what code branches on at import."""
        name = module.__name__
        if name in _OTHERS:
            vars(module).update({word: getattr(versions, word) for word in _OTHERS[name]})
            return
        vars(module).update(_known(name))

        def absent(attribute: str) -> Absent:
            if attribute.startswith("__") or (name == LIBRARY and attribute in _PLUGGED_IN):
                raise AttributeError(f"module '{name}' has no attribute '{attribute}'")
            vars(module)[attribute] = found = Absent(f"{name}.{attribute}")
            return found

        vars(module)["__getattr__"] = absent


def _known(name: str) -> dict[str, Any]:
    """Return what is known of a module of the library: of most of them nothing."""
    if name == f"{LIBRARY}.cuda":
        return machine.answers()
    if name == f"{LIBRARY}.version":
        return machine.versions()
    if name == f"{LIBRARY}.utils._triton":
        return machine.has_triton()
    if name == f"{LIBRARY}.utils":
        return {"_triton": importlib.import_module(f"{name}._triton")}
    if name != LIBRARY:
        return {}
    parts = {part: importlib.import_module(f"{LIBRARY}.{part}") for part in _PARTS}
    return {
        **dtypes.named(),
        **parts,
        "__version__": VERSION,
        "Tensor": type("Tensor", (), {}),
        "dtype": dtypes.Dtype,
        "finfo": dtypes.finfo,
        "iinfo": dtypes.iinfo,
    }
