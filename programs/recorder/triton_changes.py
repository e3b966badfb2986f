"""Finds changes that a program makes to Triton after loading: knobs, variables, functions.

Kernels are compiled in processes that only load the program. A later change to Triton would be lost
there, and the verdict be about another kernel. Changes while loading are repeated there.
"""

import sys
from collections.abc import Hashable, Mapping
from functools import cache
from typing import Any

from compiler.front.triton_knobs import State, changes, knobs_and_variables
from programs.recorder.not_recordable import NotRecordable

UserLine = tuple[str, int]
_PACKAGES = ("triton.language", "triton.runtime", "triton.compiler", "triton.backends")
_ALWAYS = 256
"""This many launches are all checked, then only the first of each kind, as a check takes 1 ms."""


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
        for found, place in self._at_launches.items():
            other = sorted(name.partition(" ")[0] for name in found ^ (self._loaded or frozenset()))
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
