"""Bounds on the bytes of request bodies in this process: per caller, and in total.

Bytes count from their arrival until their request ends. Beyond a limit the slowest of the large
senders are dropped; a small body that comes quickly never is.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable

SMALL_BYTES = 64 << 10
QUICK_S = 1.0
IN_SCOPE = "tritond.body"
"""The key of a request's `BodyInFlight` in its scope."""


class BodiesInFlight:
    """The bodies of all requests: `limit_bytes` of them, `caller_limit_bytes` of each caller."""

    def __init__(
        self,
        limit_bytes: int,
        caller_limit_bytes: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.held_bytes: Counter[str] = Counter()
        """The held bytes of each caller that has any."""
        self.arriving: set[BodyInFlight] = set()
        """Bodies that have arrived in part."""
        self.clock = clock
        self._total_bytes = 0
        self._limit_bytes = limit_bytes
        self._caller_limit_bytes = caller_limit_bytes

    def expect(self, caller: str, drop: Callable[[str], None]) -> "BodyInFlight":
        """Return the body of a new request; `drop` ends the request, for the reason it is given."""
        return BodyInFlight(self, caller, drop)

    def hold(self, caller: str, size_bytes: int) -> None:
        """Count bytes of `caller`, and drop bodies until all is within the limits."""
        self._total_bytes += size_bytes
        self.held_bytes[caller] += size_bytes
        if self.held_bytes[caller] > self._caller_limit_bytes:
            self._drop_while(
                lambda: self.held_bytes[caller] > self._caller_limit_bytes,
                [each for each in self.arriving if each.caller == caller],
                f"Your request bodies exceed {self._caller_limit_bytes} bytes in total",
            )
        if self._total_bytes > self._limit_bytes:
            self._drop_while(
                lambda: self._total_bytes > self._limit_bytes,
                self.arriving,
                f"The bodies of all requests exceed {self._limit_bytes} bytes in total",
            )

    def let_go(self, caller: str, size_bytes: int) -> None:
        """Stop counting bytes of `caller`."""
        self._total_bytes -= size_bytes
        self.held_bytes[caller] -= size_bytes
        if not self.held_bytes[caller]:
            del self.held_bytes[caller]

    def _drop_while(
        self, is_too_much: Callable[[], bool], bodies: "Iterable[BodyInFlight]", reason: str
    ) -> None:
        """Drop the slowest large bodies, then small ones. One pass, as there may be thousands."""
        now_s = self.clock()
        candidates = [body for body in bodies if not body.is_small_and_quick(now_s)]
        candidates.sort(key=lambda body: (body.size_bytes <= SMALL_BYTES, body.bytes_per_s(now_s)))
        for body in candidates:
            if not is_too_much():
                break
            body.drop(reason)


class BodyInFlight:
    """The arrived part of one request's body."""

    __slots__ = ("_began_s", "_bodies", "_drop", "caller", "size_bytes")

    def __init__(self, bodies: BodiesInFlight, caller: str, drop: Callable[[str], None]) -> None:
        self.caller = caller
        self.size_bytes = 0
        self._bodies = bodies
        self._drop = drop
        self._began_s = bodies.clock()

    def add(self, size_bytes: int) -> None:
        """Count bytes that came; this body or another one is dropped where they are too many."""
        self.size_bytes += size_bytes
        self._bodies.arriving.add(self)
        self._bodies.hold(self.caller, size_bytes)

    def belongs_to(self, caller: str) -> None:
        """Count what came, and what will come, for `caller`."""
        if caller != self.caller:
            self._bodies.let_go(self.caller, self.size_bytes)
            self.caller = caller
            self._bodies.hold(caller, self.size_bytes)

    def has_arrived(self) -> None:
        """Never drop it from now on: all of it has arrived."""
        self._bodies.arriving.discard(self)

    def release(self) -> None:
        """Stop counting it: its request has ended."""
        self._bodies.arriving.discard(self)
        self._bodies.let_go(self.caller, self.size_bytes)
        self.size_bytes = 0

    def drop(self, reason: str) -> None:
        """End its request."""
        self.release()
        self._drop(reason)

    def is_small_and_quick(self, now_s: float) -> bool:
        """Return True if it is small and has not been arriving for long."""
        return self.size_bytes <= SMALL_BYTES and now_s - self._began_s < QUICK_S

    def bytes_per_s(self, now_s: float) -> float:
        """Return its average speed until now."""
        return self.size_bytes / max(now_s - self._began_s, 1e-3)
