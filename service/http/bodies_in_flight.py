"""The bodies that this process holds: how many bytes, of whom, and who gives way when it is full.

Bytes are reserved as they arrive and given back when the request is over. Where there is no room,
the slowest large sender is dropped, so that a few stalled uploads cannot keep others out.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

from service.http.problems import ProblemRaised

SMALL_BYTES = 64 << 10
"""Bodies up to here are never dropped; the bound on connections bounds them, too."""
_CLOSE = {"Connection": "close"}


class HeldBody:
    """A body while its request goes on."""

    def __init__(self, bodies: BodiesInFlight, caller: str) -> None:
        self.caller = caller
        self.size_bytes = 0
        self._bodies = bodies
        self._began = bodies.clock()
        self._drop: Callable[[], None] | None = None

    def on_drop(self, drop: Callable[[], None]) -> None:
        """Have `drop` called when this body must give way; until then it may."""
        self._drop = drop

    def add(self, size_bytes: int) -> None:
        """Reserve room for a part. Raises ProblemRaised: 429 or 503 where there is none."""
        self._bodies.reserve(self, size_bytes)

    def complete(self) -> None:
        """Note that all of it is here: it does not give way any more."""
        self._drop = None

    @property
    def may_be_dropped(self) -> bool:
        """Whether it is still being sent, and large."""
        return self._drop is not None and self.size_bytes > SMALL_BYTES

    @property
    def bytes_per_s(self) -> float:
        """How fast it has come."""
        return self.size_bytes / max(self._bodies.clock() - self._began, 1e-3)

    def drop(self) -> None:
        """Give its room back, and end the reading of it."""
        drop, self._drop = self._drop, None
        self.release()
        if drop is not None:
            drop()

    def release(self) -> None:
        """Give its room back: its request is over."""
        self._bodies.forget(self)


class BodiesInFlight:
    """All bodies of this process, at most `total_bytes`, and `caller_bytes` of one caller."""

    def __init__(
        self,
        total_bytes: int,
        caller_bytes: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.clock = clock
        self._total_bytes, self._caller_bytes = total_bytes, caller_bytes
        self._held: set[HeldBody] = set()
        self._bytes_of: Counter[str] = Counter()
        self.held_bytes = 0

    def begin(self, caller: str) -> HeldBody:
        """Return a new body of `caller`, empty so far."""
        return HeldBody(self, caller)

    def reserve(self, body: HeldBody, size_bytes: int) -> None:
        """Reserve room for a part of `body`, from slower ones if need be.

        Raises ProblemRaised: 429 where its caller has no room, 503 where there is none at all.
        """
        self._held.add(body)
        body.size_bytes += size_bytes
        self.held_bytes += size_bytes
        self._bytes_of[body.caller] += size_bytes
        while self._bytes_of[body.caller] > self._caller_bytes:
            slowest = self._slowest(body.caller)
            self._give_way(slowest or body, body, _caller_is_full(self._caller_bytes))
        while self.held_bytes > self._total_bytes:
            self._give_way(self._slowest() or body, body, _is_full())

    def forget(self, body: HeldBody) -> None:
        """Give back what `body` has reserved."""
        if body in self._held:
            self._held.remove(body)
            self.held_bytes -= body.size_bytes
            self._bytes_of[body.caller] -= body.size_bytes
            self._bytes_of += Counter()  # callers without bytes are not kept
            body.size_bytes = 0

    def _slowest(self, caller: str | None = None) -> HeldBody | None:
        sending = (
            body for body in self._held if body.may_be_dropped and caller in (None, body.caller)
        )
        return min(sending, key=lambda body: body.bytes_per_s, default=None)

    def _give_way(self, dropped: HeldBody, newest: HeldBody, problem: ProblemRaised) -> None:
        if dropped is newest:
            dropped.release()
            raise problem
        dropped.drop()


def dropped() -> ProblemRaised:
    """Return the problem of a body that had to give way."""
    detail = (
        "The service holds as many bytes of request bodies as it may, and this one came slowest; "
        "send it again, faster or with fewer at a time"
    )
    return ProblemRaised("too_many_bodies", detail, headers=_CLOSE)


def _caller_is_full(limit_bytes: int) -> ProblemRaised:
    detail = f"Your requests under way have bodies of {limit_bytes} bytes; send fewer at a time"
    return ProblemRaised("too_many_requests", detail, limit=limit_bytes, headers=_CLOSE)


def _is_full() -> ProblemRaised:
    detail = "The service holds as many bytes of request bodies as it may; send it again later"
    return ProblemRaised("too_many_bodies", detail, headers=_CLOSE)
