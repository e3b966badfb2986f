"""What Triton's CPU interpreter cannot do, said by the operation's own name."""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from pathlib import PurePath

from compiler.excerpt import file_in_kernel

_LANGUAGE = "language"
_WRAPPERS = frozenset({"wrapper", "operation", "<lambda>", "call"})


class NeedsGpu(NotImplementedError):
    """An operation that only a GPU has; the message is its name."""


def is_lacking(error: BaseException) -> bool:
    """Whether Triton's interpreter says that it lacks an operation."""
    if isinstance(error, NeedsGpu):
        return True
    if isinstance(error, NotImplementedError):
        return "interpreter mode" in str(error)
    return isinstance(error, AttributeError) and type(error.obj).__name__ == "InterpreterBuilder"


def words(error: BaseException) -> str:
    """Return what to say of an error that `is_lacking`."""
    named = str(error) if isinstance(error, NeedsGpu) else _operation(error)
    return f"{named} does not run on Triton's CPU interpreter: it needs a GPU"


def _operation(error: BaseException) -> str:
    """Return the function of Triton's that the user's innermost line called."""
    called = None
    for summary in traceback.extract_tb(error.__traceback__):
        if file_in_kernel(summary.filename):
            called = None
        elif called is None and _is_of_language(summary):
            called = summary.name
    return f"tl.{called}" if called else "this operation"


def _is_of_language(summary: traceback.FrameSummary) -> bool:
    folders: Iterable[str] = PurePath(summary.filename).parts
    return _LANGUAGE in folders and summary.name not in _WRAPPERS
