"""Whether a program changes Triton itself after it was loaded: knobs, variables, functions.

Kernels are compiled in processes that only load the program. What its functions do to Triton would
be lost there, and another kernel be judged. What loading does is done there, too.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Mapping
from functools import cache
from typing import Any

from compiler.front.triton_knobs import State, changes, knobs_and_variables
from programs.recorder.not_recordable import NotRecordable

Place = tuple[str, int]
_PACKAGES = ("triton.language", "triton.runtime", "triton.compiler", "triton.backends")
_ALWAYS = 256
"""So many launches are looked at each; of further ones the first of a kind, as each takes 1 ms."""


class TritonChanges:
    """What was found changed at launches, to be held against what loading the program left."""

    def __init__(self) -> None:
        self._before = {owner: dict(values) for owner, values in _state().items()}
        self._at_launches: dict[frozenset[str], Place | None] = {}
        self._loaded: frozenset[str] | None = None
        self._kinds: set[Hashable] = set()
        self._count = 0

    def loaded(self) -> None:
        """Note what is there once the program's own module was loaded."""
        self._loaded = self._now()

    def launched(self, kind: Hashable, place: Place | None) -> None:
        """Note what is there at a launch; launches of a `kind` compile one kernel."""
        self._count += 1
        if self._count > _ALWAYS and kind in self._kinds:
            return
        self._kinds.add(kind)
        self._at_launches.setdefault(self._now(), place)

    def check(self) -> None:
        """Raise `NotRecordable` where a launch found something else than loading left."""
        for found, place in self._at_launches.items():
            other = sorted(name.partition(" ")[0] for name in found ^ (self._loaded or frozenset()))
            if other:
                detail = (
                    f"it changes {other[0]} between loading and this launch, and kernels are "
                    "compiled without that: change it at the top of the module and leave it so, "
                    "or give the launch an option"
                )
                raise NotRecordable("unsupported_launch", detail, place)

    def _now(self) -> frozenset[str]:
        """Return the names of what was changed since the beginning, each with what it is now."""
        now = _state()
        return frozenset(f"{name} {_identity(now, name)}" for name in changes(self._before, now))


def _state() -> State:
    """Return what of Triton a program could change, by the dotted name of its owner."""
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
