"""The calls of the user's functions that one statement makes, named in it or not.

Python also calls functions that no statement names: special methods, annotations, finalizers, and
what a library is given.
"""

import inspect
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from compiler.diagnostic import KERNEL_FOLDER

_MOST = 100
MOST_FUNCTIONS = 2_000


@dataclass(frozen=True)
class UserCall:
    """A call of a user's function: its code, and the namespace and values that it begins with."""

    code: types.CodeType
    namespace: dict[str, Any]
    values: tuple[Any, ...]


class UserCalls:
    """The first calls in a block, and the first one of each function after that."""

    def __init__(self) -> None:
        self.found: list[UserCall] = []
        self._functions: set[types.CodeType] = set()

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note the calls in the block, except those in an `unnoted` block inside it."""
        outer = sys.getprofile()
        sys.setprofile(self._note)
        try:
            yield
        finally:
            sys.setprofile(outer)

    def _note(self, frame: types.FrameType, event: str, _: object) -> None:
        # Triton's own calls and returns come here too, 18,000 for a file of five kernels, so the
        # cheap tests are first and nothing is called
        if event != "call":
            return
        code = frame.f_code
        if not code.co_filename.startswith(KERNEL_FOLDER):
            return
        if not code.co_flags & inspect.CO_OPTIMIZED:
            return
        if code in self._functions and len(self.found) >= _MOST:
            return
        if len(self._functions) < MOST_FUNCTIONS:
            self._functions.add(code)
            values = tuple(frame.f_locals.values())
            self.found.append(UserCall(code, frame.f_globals, values))


@contextmanager
def unnoted() -> Iterator[None]:
    """Note no calls in the block: most of them would be this package's own."""
    outer = sys.getprofile()
    sys.setprofile(None)
    try:
        yield
    finally:
        sys.setprofile(outer)
