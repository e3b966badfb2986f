"""A request that its JSON alone shows to be wrong, said field by field.

It knows JSON pointers but no HTTP status: the service maps it to one.
"""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: `pointer` is an RFC 6901 pointer into the request body."""

    pointer: str
    message: str


class RequestRejected(Exception):
    """The caller can mend the request; `faults` name every field found wrong."""

    def __init__(self, *faults: Fault) -> None:
        super().__init__("; ".join(f"{fault.pointer}: {fault.message}" for fault in faults))
        self.faults = faults


def pointer(*parts: str | int) -> str:
    """Join `parts` to an RFC 6901 JSON pointer."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return " Did you mean `x`?" for the closest of `known`, or the empty string."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean `{close[0]}`?" if close else ""
