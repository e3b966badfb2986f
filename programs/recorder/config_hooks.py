"""Whether configurations of an autotuner prepare a launch alike, by what their hooks are.

The tape holds what the first one's `pre_hook` does; of another that does something else, a run
without its hook would say nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

_PLAIN = (bool, int, float, str, type(None))
_UNSET = object()
"""What a name holds that a hook closes over, and that has no value yet."""
_Pairs = frozenset[tuple[int, int]]


def prepare_alike(one: Any, other: Any) -> bool:
    """Return whether two configurations have no hook, or hooks that are one text on one state."""
    return _are_alike(one.pre_hook, other.pre_hook, frozenset())


def _are_alike(one: Any, other: Any, asked: _Pairs) -> bool:
    """Compare hooks, or what they hold; `asked` is looked at already: a hook may hold itself."""
    if one is other or (id(one), id(other)) in asked:
        return True
    if isinstance(one, _PLAIN) and isinstance(other, _PLAIN):
        return type(one) is type(other) and one == other
    if isinstance(one, MethodType) and isinstance(other, MethodType):
        return one.__self__ is other.__self__ and _are_alike(one.__func__, other.__func__, asked)
    if not (isinstance(one, FunctionType) and isinstance(other, FunctionType)):
        return False
    if one.__globals__ is not other.__globals__ or _text(one.__code__) != _text(other.__code__):
        return False
    asked |= {(id(one), id(other))}
    states = _state(one), _state(other)
    return states[0].keys() == states[1].keys() and all(
        _are_alike(value, states[1][name], asked) for name, value in states[0].items()
    )


def _text(code: CodeType) -> tuple[object, ...]:
    return (
        *(code.co_code, code.co_exceptiontable, code.co_names, code.co_varnames, code.co_freevars),
        *(code.co_cellvars, code.co_flags, code.co_argcount, code.co_kwonlyargcount),
    )


def _state(hook: FunctionType) -> dict[object, Any]:
    """Return all that a hook holds beside its text, each by where it holds it."""
    held: dict[str, Iterable[Any]] = {
        "constant": hook.__code__.co_consts,
        "default": hook.__defaults__ or (),
        "cell": map(_content, hook.__closure__ or ()),
    }
    found: dict[object, Any] = {
        (where, at): value for where, values in held.items() for at, value in enumerate(values)
    }
    return found | (hook.__kwdefaults__ or {})


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _UNSET
