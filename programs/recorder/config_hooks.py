"""Whether configurations of an autotuner prepare a launch alike, by what their hooks are.

The tape holds what the first one's `pre_hook` does; of another that does something else, a run
without its hook would say nothing.
"""

from __future__ import annotations

from typing import Any

_PLAIN = (bool, int, float, str, type(None))


def prepare_alike(one: Any, other: Any) -> bool:
    """Return whether two configurations have no hook, or hooks that are one text on one state."""
    return _are_alike(one.pre_hook, other.pre_hook)


def _are_alike(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if isinstance(one, _PLAIN) and isinstance(other, _PLAIN):
        return type(one) is type(other) and one == other
    codes: list[Any] = [getattr(hook, "__code__", None) for hook in (one, other)]
    if None in codes or one.__globals__ is not other.__globals__:
        return False
    texts = [(code.co_code, code.co_names, code.co_varnames, code.co_freevars) for code in codes]
    states = [[*_constants(hook), *_closed_over(hook)] for hook in (one, other)]
    return (
        texts[0] == texts[1]
        and len(states[0]) == len(states[1])
        and all(map(_are_alike, states[0], states[1]))
    )


def _constants(hook: Any) -> list[Any]:
    return [*hook.__code__.co_consts, *(hook.__defaults__ or ())]


def _closed_over(hook: Any) -> list[Any]:
    return [cell.cell_contents for cell in hook.__closure__ or ()]
