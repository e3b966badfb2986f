"""Lets long work end early when its client has gone: loops check between their steps.

A thread cannot be ended from outside. Standard library only.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Final


class Unwanted(Exception):
    """Ends work whose client has gone, or whose request was cancelled."""


def _always() -> bool:
    return True


IS_WANTED: Final[ContextVar[Callable[[], bool]]] = ContextVar("is_wanted", default=_always)
"""Called often, from any thread. The start of a request sets it."""


def check_wanted() -> None:
    """Raise Unwanted when the work of this context is not wanted any more."""
    if not IS_WANTED.get()():
        raise Unwanted
