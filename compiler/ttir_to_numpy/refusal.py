"""The error for IR that cannot be translated to NumPy: the operation and its line."""

from __future__ import annotations

from compiler.diagnostic import Failure

NOT_DERIVABLE = "not_derivable"


class Untranslatable(Exception):
    """An operation, type or structure that NumPy text cannot express."""

    def __init__(self, what: str, location: str = "") -> None:
        super().__init__(f"{location}: {what}" if location else what)
        self.what = what
        self.location = location

    def at(self, location: str) -> Untranslatable:
        """Return the same refusal with its location, unless it has one."""
        return self if self.location or not location else Untranslatable(self.what, location)

    def failure(self) -> Failure:
        """Return the failure of the task."""
        return Failure(NOT_DERIVABLE, "numpy", f"the kernel cannot be translated to NumPy: {self}")
