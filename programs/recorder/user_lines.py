"""Finds the line of the user's program that is running, or that raised an error."""

import sys
from collections.abc import Collection
from types import FrameType, TracebackType
from typing import TypeGuard

from compiler.diagnostic import KERNEL_FOLDER

UserLine = tuple[str, int]
"""The user's name of a file, and a line from 1."""


class UserLines:
    """The lines of a program's files; `paths` as in `co_filename` of their code."""

    def __init__(self, paths: Collection[str]) -> None:
        self._paths = frozenset(paths)

    def innermost(self) -> UserLine | None:
        """Return the innermost line of the user that is running."""
        frame: FrameType | None = sys._getframe(1)
        paths = self._paths
        while frame is not None:
            if frame.f_code.co_filename in paths:
                return named(frame.f_code.co_filename), frame.f_lineno
            frame = frame.f_back
        return None

    def at(self, frame: FrameType) -> UserLine | None:
        """Return the line that `frame` runs, None if it is none of the user's."""
        path = frame.f_code.co_filename
        return (named(path), frame.f_lineno) if path in self._paths else None

    def is_unparsed(self, error: BaseException) -> TypeGuard[SyntaxError]:
        """Return True if one of the user's files cannot be parsed."""
        return isinstance(error, SyntaxError) and error.filename in self._paths

    def of(self, error: BaseException) -> UserLine | None:
        """Return the innermost line of the user in an error's traceback."""
        if self.is_unparsed(error):
            return named(str(error.filename)), error.lineno or 1
        place = None
        step: TracebackType | None = error.__traceback__
        while step is not None:
            path = step.tb_frame.f_code.co_filename
            if path in self._paths:
                place = named(path), step.tb_lineno
            step = step.tb_next
        return place


def named(path: str) -> str:
    """Return the user's name of a file of the program."""
    return path.removeprefix(KERNEL_FOLDER)
