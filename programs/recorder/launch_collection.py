"""Collects the launches of an autotuner's configurations instead of running them.

The tape records what the first configuration's `pre_hook` does. A replay of a configuration with
another hook would run without that hook, so its result would be meaningless: hooks are compared
without calling them.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

_PLAIN = (bool, int, float, str, type(None))
_UNSET = object()
"""The content of a closure's cell that has no value yet."""
_Pairs = frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class CollectedLaunch:
    """A launch of a configuration: the jitted function, the grid and the arguments."""

    kernel: Any
    grid: list[int]
    args: dict[str, Any]
    constexprs: dict[str, Any]
    options: dict[str, Any]
    tensors: list[Any]
    """The tensors among its arguments."""
    unprepared: bool = False
    """True if it needs a `pre_hook` that the tape does not have."""


class LaunchCollection:
    """Takes launches while an autotuner goes through its configurations. Autotuners may nest."""

    def __init__(self) -> None:
        self._open: list[list[CollectedLaunch]] = []

    @property
    def is_open(self) -> bool:
        """True while launches are collected instead of recorded."""
        return bool(self._open)

    def add(self, launch: CollectedLaunch) -> None:
        """Collect a launch."""
        self._open[-1].append(launch)

    @contextmanager
    def collecting(self) -> Iterator[list[CollectedLaunch]]:
        """Collect the launches of the block."""
        launches: list[CollectedLaunch] = []
        self._open.append(launches)
        try:
            yield launches
        finally:
            self._open.remove(launches)


def have_equal_hooks(first: Any, other: Any) -> bool:
    """Return True if both have no hook, or hooks with the same code and the same state."""
    return _are_equal(first.pre_hook, other.pre_hook, frozenset())


def _are_equal(first: Any, other: Any, asked: _Pairs) -> bool:
    """Compare hooks, or values that they hold.

    `asked` are pairs that are being compared already, as a hook may hold itself.
    """
    if first is other or (id(first), id(other)) in asked:
        return True
    if isinstance(first, _PLAIN) and isinstance(other, _PLAIN):
        return type(first) is type(other) and first == other
    if isinstance(first, MethodType) and isinstance(other, MethodType):
        return first.__self__ is other.__self__ and _are_equal(
            first.__func__, other.__func__, asked
        )
    if not (isinstance(first, FunctionType) and isinstance(other, FunctionType)):
        return False
    if first.__globals__ is not other.__globals__ or _text(first.__code__) != _text(other.__code__):
        return False
    asked |= {(id(first), id(other))}
    states = _state(first), _state(other)
    return states[0].keys() == states[1].keys() and all(
        _are_equal(value, states[1][name], asked) for name, value in states[0].items()
    )


def _text(code: CodeType) -> tuple[object, ...]:
    return (
        *(code.co_code, code.co_exceptiontable, code.co_names, code.co_varnames, code.co_freevars),
        *(code.co_cellvars, code.co_flags, code.co_argcount, code.co_kwonlyargcount),
    )


def _state(hook: FunctionType) -> dict[object, Any]:
    """Return the values that a hook holds besides its code, by their place in it."""
    held: dict[str, Iterable[Any]] = {
        "constant": hook.__code__.co_consts,
        "default": hook.__defaults__ or (),
        "cell": map(_content, hook.__closure__ or ()),
    }
    state: dict[object, Any] = {
        (where, at): value for where, values in held.items() for at, value in enumerate(values)
    }
    return state | (hook.__kwdefaults__ or {})


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _UNSET
