"""Whether a launched kernel is the one that its module defines by that name, as it was loaded.

Kernels are compiled from the posted text, by name, in processes that only load it: what a program
did to a kernel, or to the globals that it reads, would be lost there, and another one be judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any

import triton.language as tl
from triton.runtime.autotuner import Autotuner, Heuristics
from triton.runtime.jit import JITFunction

from programs.recorder.not_recordable import NotRecordable

Place = tuple[str, int]
Globals = Mapping[str, Any]
_PLAIN = (bool, int, float, str)
_NOTHING = object()


@dataclass(frozen=True, slots=True)
class _Launched:
    """A kernel as a launch found it: with the values of the globals that it reads."""

    kernel: Any
    read: tuple[tuple[Globals, str, Any], ...]
    place: Place | None


class KernelDefinitions:
    """The kernels that were launched, to be held against their modules once these are loaded."""

    def __init__(self) -> None:
        self._launched: dict[tuple[int, ...], _Launched] = {}

    def launched(self, kernel: Any, place: Place | None) -> None:
        """Remember a kernel as it is now."""
        read = tuple(_globals_read(kernel))
        key = (id(kernel), *(id(value) for _, _, value in read))
        if key not in self._launched:
            self._launched[key] = _Launched(kernel, read, place)

    def check(self, loaded: Mapping[int, Globals]) -> None:
        """Raise `NotRecordable` for the first that is another than its module defines.

        `loaded` are the globals of the program's modules as loading left them, by the identity of
        each.
        """
        for one in self._launched.values():
            refusal = _redefined(one, loaded) or _changed(one, loaded)
            if refusal is not None:
                refusal.place = one.place
                raise refusal


def _globals_read(kernel: Any) -> Iterator[tuple[Globals, str, Any]]:
    """Yield the globals that a kernel and what it calls read: of which module, by name."""
    waiting, seen = [kernel], set[int]()
    while waiting:
        function = waiting.pop().fn
        if id(function) in seen:
            continue
        seen.add(id(function))
        for name in function.__code__.co_names:
            value = function.__globals__.get(name, _NOTHING)
            if isinstance(value, JITFunction):
                waiting.append(value)
            if isinstance(value, (JITFunction, tl.constexpr, *_PLAIN)):
                yield function.__globals__, name, _plain(value)


def _redefined(one: _Launched, loaded: Mapping[int, Globals]) -> NotRecordable | None:
    function = one.kernel.fn
    module = loaded.get(id(function.__globals__), {})
    name, named = _named(function.__qualname__, module)
    defined = [named] if named is not None else _of_code(function.__code__, module)
    if not defined and module and ".<locals>." in function.__qualname__:
        detail = (
            f"it launches the kernel {name!r}, which a function made, and kernels are compiled by "
            "the names in their module: define it outside of functions, or have a variable of "
            "the module be what the function returns"
        )
        return NotRecordable("unsupported_launch", detail)
    if not defined or any(found is one.kernel for found in defined):
        return None
    detail = (
        f"it launches a kernel that is called {name!r}, which is not what its module has by that "
        f"name (that begins at line {defined[0].fn.__code__.co_firstlineno}), and kernels are "
        "compiled by their names: give each kernel a name of its own"
    )
    return NotRecordable("unsupported_launch", detail)


def _named(path: str, module: Globals) -> tuple[str, Any | None]:
    """Return what a module has by the name that a kernel is compiled by: `Class.kernel`, too."""
    first, *further = path.rpartition(".<locals>.")[2].split(".")
    if ".<locals>." in path:
        first, further = (further or [first])[-1], []
    found = module.get(first)
    for name in further:
        found = getattr(found, name, None)
    return ".".join([first, *further]), _jitted(found)


def _of_code(code: CodeType, module: Globals) -> list[Any]:
    """Return the kernels of a module that one text made, with other values around it each."""
    found = [_jitted(value) for value in module.values()]
    return [kernel for kernel in found if kernel is not None and kernel.fn.__code__ is code]


def _jitted(value: Any) -> Any | None:
    while isinstance(value, (Autotuner, Heuristics)):
        value = value.fn
    return value if isinstance(value, JITFunction) else None


def _changed(one: _Launched, loaded: Mapping[int, Globals]) -> NotRecordable | None:
    for read, name, value in one.read:
        before = loaded.get(id(read))
        if before is None or _is_same(before.get(name, _NOTHING), value):
            continue
        detail = (
            f"the global {name!r}, which the kernel {one.kernel.fn.__name__!r} reads, was changed "
            "after the program was loaded, and kernels are compiled without that: pass it as an "
            "argument (tl.constexpr)"
        )
        return NotRecordable("unsupported_launch", detail)
    return None


def as_loaded(module: Globals) -> Globals:
    """Return the globals of a module as they are now, with the values that constexprs have."""
    return {name: _plain(value) for name, value in module.items()}


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, tl.constexpr) else value


def _is_same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    return type(one) is type(other) and isinstance(one, _PLAIN) and one == other
