"""Whether a launched kernel is the one that its module defines by that name, as it was loaded.

Kernels are compiled from the posted text, by name, in processes that only load it: what a program
did to a kernel, or to the globals that it reads, would be lost there, and another one be judged.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import triton.language as tl
from triton.runtime.autotuner import Autotuner, Heuristics
from triton.runtime.jit import JITFunction

from programs.recorder.not_recordable import NotRecordable

Place = tuple[str, int]
Globals = Mapping[str, Any]
_PLAIN = (bool, int, float, str)
_NOTHING = object()
_LOCALS = ".<locals>."


@dataclass(frozen=True, slots=True)
class KernelName:
    """The name by which a module has a kernel: `kernel`, `Class.kernel`, or a variable's."""

    module: Globals
    name: str


@dataclass(frozen=True, slots=True)
class _Read:
    """A global, or a variable of the function that made a kernel, as the kernel reads it."""

    scope: int
    """The identity of the module's globals, or of the variable's cell."""
    name: str
    value: Any
    is_closure: bool


@dataclass(frozen=True, slots=True)
class _Launched:
    """A kernel as a launch found it: with the values of the variables that it reads."""

    kernel: Any
    found_as: KernelName | None
    read: tuple[_Read, ...]
    place: Place | None


class KernelDefinitions:
    """The kernels that were launched, to be held against their modules once these are loaded."""

    def __init__(self) -> None:
        self._launched: dict[tuple[int, ...], _Launched] = {}

    def launched(self, kernel: Any, place: Place | None) -> KernelName | None:
        """Remember a kernel as it is now, and return by what name its module has it, if any."""
        read = tuple(_read_by(kernel))
        key = (id(kernel), *(id(one.value) for one in read))
        if key not in self._launched:
            self._launched[key] = _Launched(kernel, _name_of(kernel), read, place)
        return self._launched[key].found_as

    def check(self, loaded: Mapping[int, Globals]) -> None:
        """Raise `NotRecordable` for the first that is another than its module defines.

        `loaded` are the globals of the program's modules as loading left them, by the identity of
        each, and what the functions that made kernels held then, by that of the cell.
        """
        for one in self._launched.values():
            refusal = _redefined(one, loaded) or _changed(one, loaded)
            if refusal is not None:
                refusal.place = one.place
                raise refusal


def _read_by(kernel: Any) -> Iterator[_Read]:
    """Yield the globals and closures that a kernel and what it calls read."""
    waiting, seen = [kernel], set[int]()
    while waiting:
        function = waiting.pop().fn
        if id(function) in seen:
            continue
        seen.add(id(function))
        for one in _variables(function):
            if isinstance(one.value, JITFunction):
                waiting.append(one.value)
            if isinstance(one.value, (JITFunction, *_PLAIN)):
                yield one


def _variables(function: Any) -> Iterator[_Read]:
    for name in function.__code__.co_names:
        value = function.__globals__.get(name, _NOTHING)
        yield _Read(id(function.__globals__), name, _plain(value), is_closure=False)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield _Read(id(cell), name, _plain(_content(cell)), is_closure=True)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it has none yet
        return _NOTHING


def _name_of(kernel: Any) -> KernelName | None:
    """Return by what name a module has a kernel now; that of a variable if a function made it."""
    function = kernel.fn
    own = function.__globals__
    path = function.__qualname__
    if _LOCALS not in path:
        return KernelName(own, path)
    inner = path.rpartition(_LOCALS)[2]
    if "." not in inner and _jitted(own.get(inner)) is kernel:
        return KernelName(own, inner)
    for module in (own, *_other_modules(own)):
        for name, value in list(module.items()):
            if _jitted(value) is kernel and name.isidentifier():
                return KernelName(module, name)
    return None


def _other_modules(own: Globals) -> list[Globals]:
    """Return the globals of the other modules that the same loader has loaded."""
    loader = own.get("__loader__")
    modules = [
        vars(module) for module in list(sys.modules.values()) if isinstance(module, ModuleType)
    ]
    return [held for held in modules if held is not own and held.get("__loader__") is loader]


def _redefined(one: _Launched, loaded: Mapping[int, Globals]) -> NotRecordable | None:
    function = one.kernel.fn
    if one.found_as is None:
        made = function.__qualname__.split(_LOCALS)[0]
        name = function.__name__
        detail = (
            f"it launches the kernel {name!r}, which the function {made!r} made, and kernels are "
            "compiled by the names in their module: define it outside of functions, or have a "
            "variable of the module be what the function returns, as in "
            f"`{name}_1 = {made.rpartition('.')[2]}(...)` at the top level, and launch that"
        )
        return NotRecordable("unsupported_launch", detail)
    name = one.found_as.name
    defined = _named(name, loaded.get(id(one.found_as.module), {}))
    if defined is None or defined is one.kernel:
        return None
    detail = (
        f"it launches a kernel that is called {name!r}, which is not what its module has by that "
        f"name (that begins at line {defined.fn.__code__.co_firstlineno}), and kernels are "
        "compiled by their names: give each kernel a name of its own"
    )
    return NotRecordable("unsupported_launch", detail)


def _named(path: str, module: Globals) -> Any | None:
    """Return the kernel that a module has by a name: `Class.kernel`, too."""
    first, *further = path.split(".")
    found = module.get(first)
    for name in further:
        found = getattr(found, name, None)
    return _jitted(found)


def _jitted(value: Any) -> Any | None:
    while isinstance(value, (Autotuner, Heuristics)):
        value = value.fn
    return value if isinstance(value, JITFunction) else None


def _changed(one: _Launched, loaded: Mapping[int, Globals]) -> NotRecordable | None:
    for read in one.read:
        before = loaded.get(read.scope)
        if before is None or _is_same(before.get(read.name, _NOTHING), read.value):
            continue
        what = "captured variable" if read.is_closure else "global"
        detail = (
            f"the {what} {read.name!r}, which the kernel {one.kernel.fn.__name__!r} reads, was "
            "changed after the program was loaded, and kernels are compiled without that: pass it "
            "as an argument (tl.constexpr)"
        )
        return NotRecordable("unsupported_launch", detail)
    return None


def as_loaded(module: dict[str, Any]) -> dict[int, Globals]:
    """Return the globals of a module as they are now, with the values that constexprs have.

    By their identity, and beside them what the functions that made its kernels hold.
    """
    found: dict[int, Globals] = {id(module): {name: _plain(v) for name, v in module.items()}}
    for value in list(module.values()):
        kernel = _jitted(value)
        for read in _read_by(kernel) if kernel is not None else ():
            if read.is_closure:
                found.setdefault(read.scope, {read.name: read.value})
    return found


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, tl.constexpr) else value


def _is_same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    return type(one) is type(other) and isinstance(one, _PLAIN) and one == other
