"""The error for IR that cannot be translated to NumPy: what it is, and its line."""

from __future__ import annotations

from compiler.diagnostic import Failure

NOT_DERIVABLE = "not_derivable"


class Untranslatable(Exception):
    """An operation, type or structure that NumPy text cannot stand for."""

    def __init__(self, what: str, place: str = "") -> None:
        super().__init__(f"{place}: {what}" if place else what)
        self.what = what
        self.place = place

    def at(self, place: str) -> Untranslatable:
        """Return the same refusal with its place, unless it has one."""
        return self if self.place or not place else Untranslatable(self.what, place)

    def failure(self) -> Failure:
        """Return what the task raises."""
        return Failure(NOT_DERIVABLE, "numpy", f"the kernel cannot be told in NumPy: {self}")
