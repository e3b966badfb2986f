"""Where a request says the arguments of a case: so that each fault points to its own cause."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from compiler.rejection import Fault

ARGUMENTS = "/arguments"
_BY_POSITION = re.compile(r"arg(\d+)(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Origin:
    """`at` is the pointer of the case ("" without cases), `changed` the arguments it says itself.

    `is_list`, `is_changed_list`: whether those of the launch, and of the case, are lists.
    """

    at: str = ""
    changed: frozenset[str] = frozenset()
    is_list: bool = False
    is_changed_list: bool = False

    def placed(self, faults: Iterable[Fault]) -> list[Fault]:
        """Return faults of bound arguments (`/arguments/x_ptr/...`) with their true pointers."""
        return [Fault(self._pointer(fault.pointer), fault.message) for fault in faults]

    def _pointer(self, bound: str) -> str:
        path = bound.removeprefix(ARGUMENTS + "/")
        if path == bound:
            return self.at + bound
        is_own = path.partition("/")[0] in self.changed
        match = _BY_POSITION.fullmatch(path)
        if match and (self.is_changed_list if is_own else self.is_list):
            path = match[1] + match[2]
        return f"{self.at if is_own else ''}{ARGUMENTS}/{path}"
