"""Stands in for torch, so that annotations, constants and conditions can mention it.

Knows dtypes and which machine is compiled for. Nothing is computed with it: what would need a real
answer raises, and is left out.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import types
from typing import TYPE_CHECKING, Any

import triton.language as tl

from compiler.making import dtypes, machine, versions
from compiler.making.assumptions import Assumptions
from compiler.making.environment import StandInUsed

if TYPE_CHECKING:
    from typing import Self  # not in Python 3.10, which Triton still supports

LIBRARY = "torch"
VERSION = "2.13.0"

_PARTS = ("cuda", "version", "utils")
# what other makers' plug-ins add to torch: code asks for it to know whose machine it is on
_PLUGGED_IN = frozenset({"corex", "gcu", "hpu", "mlu", "musa", "npu", "ptpu", "txda"})
_OTHERS = {"packaging": (), "packaging.version": ("Version", "InvalidVersion", "parse")}


class Absent:
    """Something of a library that is not here: it can be named and called, but decides nothing."""

    def __init__(self, name: str, assumptions: Assumptions) -> None:
        self.__name__ = name
        self._assumptions = assumptions
        assumptions.touch()

    def __getattr__(self, name: str) -> Absent:
        if name.startswith("_"):
            self.__dict__.get("_assumptions", Assumptions()).touch()
            raise AttributeError(name)
        return Absent(f"{self.__name__}.{name}", self._assumptions)

    def __call__(self, *arguments: Any, **named: Any) -> Absent:
        """Return something absent. Raises `TypeError` for a kernel's values."""
        if any(isinstance(value, tl.core.base_value) for value in (*arguments, *named.values())):
            message = f"{self.__name__} cannot be used inside a kernel: it runs on the host"
            raise TypeError(message)
        return Absent(f"{self.__name__}()", self._assumptions)

    def _computed(self, *_: Any) -> Absent:
        return Absent(f"{self.__name__}()", self._assumptions)

    def _unknown(self, *_: Any) -> Any:
        self._assumptions.touch()
        message = f"{self.__name__} is not known here: {LIBRARY} is not installed"
        raise StandInUsed(message)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _computed
    __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = _computed
    __matmul__ = __rmatmul__ = __neg__ = __getitem__ = __and__ = __or__ = _computed
    __bool__ = __len__ = __iter__ = __contains__ = __int__ = __float__ = __index__ = _unknown
    __lt__ = __le__ = __gt__ = __ge__ = _unknown
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        """Be equal to itself only, which is an assumption."""
        self._assumptions.assume(f"{self.__name__} is not known: it is taken to equal nothing else")
        return self is other

    def __setitem__(self, key: object, value: object) -> None:
        """Take a value and forget it."""
        self._assumptions.touch()

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        """Be no base at all of a class that names it as one."""
        self._assumptions.touch()
        return ()

    def __enter__(self) -> Self:
        """Be a context, such as `torch.no_grad()`."""
        self._assumptions.touch()
        return self

    def __exit__(self, *_: object) -> None:
        """End the context."""

    def __repr__(self) -> str:
        return f"<{self.__name__}, which is not installed>"


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the stand-ins, and their submodules, after every other finder has given up."""

    def __init__(self, assumptions: Assumptions) -> None:
        self._assumptions = assumptions

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
        assumptions = self._assumptions

        def absent(attribute: str) -> Any:
            if name == LIBRARY and attribute == "__version__":
                assumptions.assume(f"torch is taken to be {VERSION}: none is installed")
                return VERSION
            if attribute.startswith("__") or (name == LIBRARY and attribute in _PLUGGED_IN):
                assumptions.touch()
                raise AttributeError(f"module '{name}' has no attribute '{attribute}'")
            return Absent(f"{name}.{attribute}", assumptions)

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
        "Tensor": type("Tensor", (), {}),
        "dtype": dtypes.Dtype,
        "finfo": dtypes.finfo,
        "iinfo": dtypes.iinfo,
    }
