"""An RFC 9457 problem as tritond writes it: as the body of an error answer or inside a result."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with a request: `pointer` is the JSON pointer of the offending member."""

    pointer: str
    message: str


@dataclass(frozen=True, slots=True)
class Problem:
    """What went wrong. `slug` is for programs, `title` and `detail` are for people.

    `retryable` is None where the service does not say. `raw` is the object as received.
    """

    slug: str
    title: str
    detail: str
    status: int | None
    errors: tuple[Fault, ...]
    retryable: bool | None
    raw: Mapping[str, Any]

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Problem":
        """Read a problem; members that are missing become empty, unknown ones stay in `raw`."""
        errors = body.get("errors") or ()
        return cls(
            slug=body.get("slug") or "",
            title=body.get("title") or "",
            detail=body.get("detail") or "",
            status=body.get("status"),
            errors=tuple(Fault(e.get("pointer") or "", e.get("message") or "") for e in errors),
            retryable=body.get("retryable"),
            raw=body,
        )

    def __str__(self) -> str:
        """Return the detail, then one indented line for each fault of the request."""
        headline = self.detail or self.title or self.slug or "no reason given"
        faults = [f"{fault.pointer or '/'}: {fault.message}" for fault in self.errors]
        return "\n  ".join([headline, *(fault for fault in faults if fault not in headline)])
