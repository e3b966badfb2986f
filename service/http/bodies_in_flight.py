"""How many bytes of request bodies this process holds: of each caller, and of all together.

Bytes count from their arrival until their request ends. Beyond a limit the slowest of the large
senders are dropped; a small body that comes quickly never is.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable

SMALL_BYTES = 64 << 10
QUICK_S = 1.0
IN_SCOPE = "tritond.body"
"""Where the scope of a request has its `BodyInFlight`."""


class BodiesInFlight:
    """The bodies of all requests: `limit_bytes` of them, `caller_limit_bytes` of each caller."""

    def __init__(
        self,
        limit_bytes: int,
        caller_limit_bytes: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.held_bytes: Counter[str] = Counter()
        """What is held of each caller of whom anything is."""
        self.arriving: set[BodyInFlight] = set()
        """Bodies of which there is something, but not all."""
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
        while self.held_bytes[caller] > self._caller_limit_bytes:
            reason = f"Your bodies take more than {self._caller_limit_bytes} bytes together"
            if not self._drop_one(
                (each for each in self.arriving if each.caller == caller), reason
            ):
                break
        while self._total_bytes > self._limit_bytes:
            reason = f"The bodies of all requests take more than {self._limit_bytes} bytes together"
            if not self._drop_one(self.arriving, reason):
                break

    def let_go(self, caller: str, size_bytes: int) -> None:
        """Count bytes of `caller` no more."""
        self._total_bytes -= size_bytes
        self.held_bytes[caller] -= size_bytes
        if not self.held_bytes[caller]:
            del self.held_bytes[caller]

    def _drop_one(self, bodies: "Iterable[BodyInFlight]", reason: str) -> bool:
        """Drop the slowest large body, or small one where none is large; False without any."""
        now_s = self.clock()
        found = [body for body in bodies if not body.is_small_and_quick(now_s)]
        large = [body for body in found if body.size_bytes > SMALL_BYTES]
        if not found:
            return False
        min(large or found, key=lambda body: body.bytes_per_s(now_s)).drop(reason)
        return True


class BodyInFlight:
    """What came of the body of one request of `caller`."""

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
        """Drop it no more: all of it is there."""
        self._bodies.arriving.discard(self)

    def release(self) -> None:
        """Count it no more: its request has ended."""
        self._bodies.arriving.discard(self)
        self._bodies.let_go(self.caller, self.size_bytes)
        self.size_bytes = 0

    def drop(self, reason: str) -> None:
        """End its request."""
        self.release()
        self._drop(reason)

    def is_small_and_quick(self, now_s: float) -> bool:
        """Whether it is not large, and has not been arriving for long."""
        return self.size_bytes <= SMALL_BYTES and now_s - self._began_s < QUICK_S

    def bytes_per_s(self, now_s: float) -> float:
        """How fast it came until now."""
        return self.size_bytes / max(now_s - self._began_s, 1e-3)
