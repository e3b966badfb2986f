"""How long a request is willing to wait: `?wait=S` or `Prefer: wait=S`, clamped."""

import re
from dataclasses import dataclass
from functools import lru_cache

from fastapi import Request
from starlette.datastructures import QueryParams

from service.problems import ProblemRaised

_PREFER_WAIT = re.compile(r"(?:^|[,;])\s*wait\s*=\s*(\d+(?:\.\d+)?)\s*(?:$|[,;])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Wait:
    """Seconds to wait; `is_preference` when it came by `Prefer` and must be acknowledged."""

    seconds: float
    is_preference: bool = False

    @property
    def headers(self) -> dict[str, str]:
        """The header that acknowledges a preference."""
        return {"Preference-Applied": f"wait={self.seconds:g}"} if self.is_preference else {}


def requested_wait(request: Request, max_wait_s: float, default_s: float = 0.0) -> Wait:
    """Return the wait that `request` asks for, at most `max_wait_s`; `default_s` if for none.

    Raises ProblemRaised (422) when `wait` is not a number of seconds ≥ 0.
    """
    written = _written(request.scope["query_string"])
    if written is not None:
        return Wait(min(_seconds(written), max_wait_s))
    preferred = _PREFER_WAIT.search(request.headers.get("prefer", ""))
    if preferred:
        return Wait(min(float(preferred[1]), max_wait_s), is_preference=True)
    return Wait(min(default_s, max_wait_s))


@lru_cache(maxsize=64)
def _written(query: bytes) -> str | None:
    """Return `wait` of a query string; remembered, because a client sends the same all the time."""
    return QueryParams(query).get("wait")


def _seconds(written: str) -> float:
    try:
        seconds = float(written) if "_" not in written else -1.0  # float() reads 1_0 as 10
    except ValueError:
        seconds = -1.0
    if not seconds >= 0:  # also refuses nan
        detail = f"wait={written!r} is not a number of seconds; write for example wait=30"
        raise ProblemRaised("invalid_request", detail, parameter="wait")
    return seconds
