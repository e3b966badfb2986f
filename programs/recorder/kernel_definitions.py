"""Checks that a launched kernel is the one that its module defined by that name when loaded.

Kernels are compiled by name, in processes that only load the posted source. Later changes to a
kernel, to globals that it reads, or to Triton's knobs, variables and functions would be lost there,
and the verdict be about another kernel. Changes while loading are repeated there.
"""

import sys
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import triton.language as tl
from triton.runtime.autotuner import Autotuner, Heuristics
from triton.runtime.jit import JITFunction

from compiler.front.triton_knobs import State, changes, knobs_and_variables
from programs.recorder.record_order import NotRecordable

UserLine = tuple[str, int]
Globals = Mapping[str, Any]
_PLAIN = (bool, int, float, str)
_NOTHING = object()
_LOCALS = ".<locals>."
_PACKAGES = ("triton.language", "triton.runtime", "triton.compiler", "triton.backends")
_ALWAYS = 256
"""This many launches are all checked, then only the first of each kind, as a check takes 1 ms."""


@dataclass(frozen=True, slots=True)
class KernelName:
    """The name of a kernel in a module: `kernel`, `Class.kernel`, or that of a variable."""

    module: Globals
    name: str


@dataclass(frozen=True, slots=True)
class _Read:
    """A global or captured variable that a kernel reads, with its value."""

    scope: int
    """The identity of the module's globals, or of the variable's cell."""
    name: str
    value: Any
    is_closure: bool


@dataclass(frozen=True, slots=True)
class _Launched:
    """A kernel at its launch, with the values of the variables that it reads."""

    kernel: Any
    found_as: KernelName | None
    read: tuple[_Read, ...]
    place: UserLine | None


class KernelDefinitions:
    """The launched kernels, to compare with their modules' definitions after the recording."""

    def __init__(self) -> None:
        self._launched: dict[tuple[int, ...], _Launched] = {}

    def launched(self, kernel: Any, place: UserLine | None) -> KernelName | None:
        """Note a kernel in its present state; return its name in a module, None without one."""
        read = tuple(_read_by(kernel))
        key = (id(kernel), *(id(variable.value) for variable in read))
        if key not in self._launched:
            self._launched[key] = _Launched(kernel, _name_of(kernel), read, place)
        return self._launched[key].found_as

    def check(self, loaded: Mapping[int, Globals]) -> None:
        """Raise `NotRecordable` for the first kernel that differs from its module's definition.

        `loaded` are the globals of the program's modules after loading, by the `id` of their dict,
        and the captured variables of kernels at that time, by the `id` of their cell.
        """
        for launch in self._launched.values():
            refusal = _redefined(launch, loaded) or _changed(launch, loaded)
            if refusal is not None:
                refusal.place = launch.place
                raise refusal


def _read_by(kernel: Any) -> Iterator[_Read]:
    """Yield the globals and captured variables that a kernel and its callees read."""
    waiting, seen = [kernel], set[int]()
    while waiting:
        function = waiting.pop().fn
        if id(function) in seen:
            continue
        seen.add(id(function))
        for variable in _variables(function):
            if isinstance(variable.value, JITFunction):
                waiting.append(variable.value)
            if isinstance(variable.value, (JITFunction, *_PLAIN)):
                yield variable


def _variables(function: Any) -> Iterator[_Read]:
    for name in function.__code__.co_names:
        value = function.__globals__.get(name, _NOTHING)
        yield _Read(id(function.__globals__), name, _plain(value), is_closure=False)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield _Read(id(cell), name, _plain(_content(cell)), is_closure=True)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # the cell is empty
        return _NOTHING


def _name_of(kernel: Any) -> KernelName | None:
    """Return the present name of a kernel; that of a global variable if a function made it."""
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


def _redefined(launch: _Launched, loaded: Mapping[int, Globals]) -> NotRecordable | None:
    function = launch.kernel.fn
    if launch.found_as is None:
        made = function.__qualname__.split(_LOCALS)[0]
        name = function.__name__
        detail = (
            f"it launches the kernel {name!r}, which the function {made!r} made, and kernels are "
            "compiled by their names in a module: define it outside of functions, or assign the "
            "function's result to a global variable, as in "
            f"`{name}_1 = {made.rpartition('.')[2]}(...)` at the top level, and launch that"
        )
        return NotRecordable("unsupported_launch", detail)
    name = launch.found_as.name
    defined = _named(name, loaded.get(id(launch.found_as.module), {}))
    if defined is None or defined is launch.kernel:
        return None
    detail = (
        f"it launches a kernel named {name!r}, but its module defines another kernel by that name, "
        f"at line {defined.fn.__code__.co_firstlineno}, and kernels are compiled by their names: "
        "give each kernel a unique name"
    )
    return NotRecordable("unsupported_launch", detail)


def _named(path: str, module: Globals) -> Any | None:
    """Return a module's kernel by its name, which may be dotted: `Class.kernel`."""
    first, *further = path.split(".")
    value = module.get(first)
    for name in further:
        value = getattr(value, name, None)
    return _jitted(value)


def _jitted(value: Any) -> Any | None:
    while isinstance(value, (Autotuner, Heuristics)):
        value = value.fn
    return value if isinstance(value, JITFunction) else None


def _changed(launch: _Launched, loaded: Mapping[int, Globals]) -> NotRecordable | None:
    for read in launch.read:
        before = loaded.get(read.scope)
        if before is None or _is_same(before.get(read.name, _NOTHING), read.value):
            continue
        what = "captured variable" if read.is_closure else "global"
        detail = (
            f"it changes the {what} {read.name!r} after loading, but the kernel "
            f"{launch.kernel.fn.__name__!r} reads it, and is compiled with the value from loading: "
            "pass it as an argument (tl.constexpr)"
        )
        return NotRecordable("unsupported_launch", detail)
    return None


def as_loaded(module: dict[str, Any]) -> dict[int, Globals]:
    """Return the present globals of a module and the captured variables of its kernels, by `id`.

    A constexpr is its value, as programs may wrap the same value again.
    """
    by_id: dict[int, Globals] = {id(module): {name: _plain(v) for name, v in module.items()}}
    for value in list(module.values()):
        kernel = _jitted(value)
        for read in _read_by(kernel) if kernel is not None else ():
            if read.is_closure:
                by_id.setdefault(read.scope, {read.name: read.value})
    return by_id


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, tl.constexpr) else value


def _is_same(first: Any, other: Any) -> bool:
    if first is other:
        return True
    return type(first) is type(other) and isinstance(first, _PLAIN) and first == other


class TritonChanges:
    """Triton's changed names at launches, to compare with those after loading the program."""

    def __init__(self) -> None:
        self._before = {owner: dict(values) for owner, values in _state().items()}
        self._at_launches: dict[frozenset[str], UserLine | None] = {}
        self._loaded: frozenset[str] | None = None
        self._kinds: set[Hashable] = set()
        self._count = 0

    def loaded(self) -> None:
        """Note the changes after the program's own module was loaded."""
        self._loaded = self._now()

    def launched(self, kind: Hashable, place: UserLine | None) -> None:
        """Note the changes at a launch; all launches of a `kind` compile one kernel."""
        self._count += 1
        if self._count > _ALWAYS and kind in self._kinds:
            return
        self._kinds.add(kind)
        self._at_launches.setdefault(self._now(), place)

    def check(self) -> None:
        """Raise `NotRecordable` if Triton differed at a launch from after loading."""
        for names, place in self._at_launches.items():
            other = sorted(name.partition(" ")[0] for name in names ^ (self._loaded or frozenset()))
            if other:
                detail = (
                    f"it changes {other[0]} between loading and this launch, and kernels are "
                    "compiled without that change: change it once, at the top level of the "
                    "module, or pass an option to the launch"
                )
                raise NotRecordable("unsupported_launch", detail, place)

    def _now(self) -> frozenset[str]:
        """Return the names that were changed since the beginning, each with its present value."""
        now = _state()
        return frozenset(f"{name} {_identity(now, name)}" for name in changes(self._before, now))


def _state() -> State:
    """Return the state of Triton that a program could change, by the dotted name of its owner."""
    return {**knobs_and_variables(), **{name: vars(owner) for name, owner in _owners().items()}}


@cache
def _owners() -> Mapping[str, Any]:
    """Return Triton's modules and their classes."""
    modules = {
        name: module
        for name, module in list(sys.modules.items())
        if name == "triton" or name.startswith(_PACKAGES)
    }
    classes = {
        f"{name}.{value.__name__}": value
        for name, module in modules.items()
        for value in list(vars(module).values())
        if isinstance(value, type) and value.__module__ == name
    }
    return {**modules, **classes}


def _identity(state: State, name: str) -> str:
    owner, _, member = name.rpartition(".")
    value = state[owner].get(member)
    return repr(value) if isinstance(value, str | int | float) else str(id(value))
