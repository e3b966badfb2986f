"""Hides the options that only back ends read from a front end, and notes when code reads one.

The user's code and Triton's language can reach the options through the builder. A value that is not
in the process cannot have influenced it.
"""

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from compiler.diagnostic import Failure

ASKED = "option_asked"
"""The slug of the failure of a front end that needs to see every option."""


class HiddenOptionRead(BaseException):
    """Code read a hidden option. No `except Exception` of the user's may catch this."""


class HiddenOptions:
    """The names of options whose values are not in this process, and the one that code read."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._asked: str | None = None

    def visible(self, options: Any) -> dict[str, Any]:
        """Return the values of `options`, a backend's, that are not hidden."""
        return {name: value for name, value in vars(options).items() if name not in self._names}

    def hide(self, options: Any) -> Any:
        """Return `options` so that reading a hidden one raises `HiddenOptionRead`."""
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
        """Raise `HiddenOptionRead` if code read a hidden option, even if it went on without it."""
        if self._asked is not None:
            raise HiddenOptionRead(self._asked)

    @contextmanager
    def noticed(self) -> Iterator[None]:
        """End the block with a `Failure` (ASKED), however it ends, if code read a hidden option."""
        try:
            yield
        finally:
            if self._asked is not None:
                message = f"the front end asks for the option {self._asked}"
                raise Failure(ASKED, "frontend", message)

    def _ask(self, name: str) -> None:
        self._asked = name
        raise HiddenOptionRead(name)


class _Trap:
    """An attribute that asks when an instance reads it; classes read it unchanged."""

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
