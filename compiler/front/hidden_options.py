"""Hides the options that a front end is not given, and notes when code reads one of them.

Code of the user's and of Triton's language can reach the options through the builder. A value that
is not in the process cannot have had an influence on it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from compiler.diagnostic import Failure

ASKED = "option_asked"
"""The slug of the failure of a front end that must be told everything."""


class OptionAsked(BaseException):
    """An option was read whose value is not known here; no `except Exception` may keep it."""


class Untold:
    """The names of options whose values are not known here, and which of them was asked for."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._asked: str | None = None

    def told(self, options: Any) -> dict[str, Any]:
        """Return the values of `options`, a backend's, that are known."""
        return {name: value for name, value in vars(options).items() if name not in self._names}

    def hidden(self, options: Any) -> Any:
        """Return `options` so that reading what is not known raises `OptionAsked`."""
        if not self._names:
            return options
        kind = type(options)
        traps = {name: _Trap(name, self._ask) for name in (*self._names, "__dict__")}
        place = {"__slots__": (), "__module__": kind.__module__, "__qualname__": kind.__qualname__}
        hidden = copy.copy(options)
        for name in self._names:
            vars(hidden).pop(name, None)
        # the options are frozen, so their own way of setting refuses
        object.__setattr__(hidden, "__class__", type(kind.__name__, (kind,), place | traps))
        return hidden

    def check(self) -> None:
        """Raise `OptionAsked` if an option was asked for, even if who asked went on without it."""
        if self._asked is not None:
            raise OptionAsked(self._asked)

    @contextmanager
    def noticed(self) -> Iterator[None]:
        """End the block with a `Failure` (ASKED), however it ends, when an option was asked for."""
        try:
            yield
        finally:
            if self._asked is not None:
                message = f"the front end asks for the option {self._asked}"
                raise Failure(ASKED, "frontend", message)

    def _ask(self, name: str) -> None:
        self._asked = name
        raise OptionAsked(name)


class _Trap:
    """An attribute that asks when it is read of an instance; of the class, it is what it was."""

    def __init__(self, name: str, ask: Any) -> None:
        self._name = name
        self._ask = ask

    def __get__(self, instance: object, owner: type) -> Any:
        if instance is None:
            return getattr(owner.__base__, self._name)
        return self._ask(self._name)

    def __set__(self, instance: object, value: object) -> None:
        """Make this win over what the instance holds; frozen options are never set."""
        raise AttributeError(self._name)
