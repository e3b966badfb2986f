"""A cache of the references' answers, in front of the store and like it for one caller each.

No answer reaches another caller, whatever the key. A large one is where a comparing child can
map it.
"""

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from launch.messages import ReferenceReport
from worker.pool.shared_bytes import Body, SharedBytes

LIFE_S = 3600.0
"""The life of an answer, as in the store."""
SHARED_FROM_BYTES = 1 << 20
MAX_ANSWERS = 4096
MAX_DESCRIPTORS = 128
"""The limit of descriptors for the answers of all callers together."""
OVERHEAD_BYTES = 2 << 10
SHARE = 2
"""One caller may have this part of it all, one answer that part of a caller's."""


@dataclass(frozen=True, slots=True)
class ReferenceAnswer:
    """The answer of a reference: its report, and the elements of each output in C order."""

    report: ReferenceReport
    outputs: dict[str, Body]

    @property
    def size_bytes(self) -> int:
        """The size of the elements."""
        return sum(map(len, self.outputs.values()))


@dataclass(frozen=True, slots=True)
class _Kept:
    answer: ReferenceAnswer
    size_bytes: int
    until: float

    @property
    def descriptors(self) -> int:
        return sum(isinstance(data, SharedBytes) for data in self.answer.outputs.values())


class ReferenceCache:
    """Answers by caller and key, within `most_bytes`; 0 keeps nothing."""

    def __init__(self, most_bytes: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most_bytes = most_bytes
        self._clock = clock
        self._callers: OrderedDict[str, OrderedDict[str, _Kept]] = OrderedDict()
        self._bytes: Counter[str] = Counter()
        self._answers = self._descriptors = 0
        self._under_way: dict[tuple[str, str], asyncio.Event] = {}

    @contextmanager
    def calculating(self, caller: str, key: str) -> Iterator[None]:
        """Let other launches that need this answer wait for it while the block runs."""
        if (caller, key) in self._under_way:
            yield
            return
        over = self._under_way[caller, key] = asyncio.Event()
        try:
            yield
        finally:
            del self._under_way[caller, key]
            over.set()

    def awaited(self, caller: str, key: str) -> asyncio.Event | None:
        """Return an event that is set when this answer is ready; None if no launch computes it."""
        return self._under_way.get((caller, key))

    def find(self, caller: str, key: str) -> ReferenceAnswer | None:
        """Return what the caller's reference answered, None where that is not kept."""
        kept = self._callers.get(caller, OrderedDict()).get(key)
        if kept is None:
            return None
        if kept.until < self._clock():
            self._drop(caller, key)
            return None
        self._callers.move_to_end(caller)
        self._callers[caller].move_to_end(key)
        return kept.answer

    def keep(self, caller: str, key: str, answer: ReferenceAnswer) -> ReferenceAnswer:
        """Keep an answer that there is room for; return it as it is kept."""
        size_bytes = answer.size_bytes + OVERHEAD_BYTES
        if size_bytes * SHARE * SHARE > self._most_bytes:
            return answer
        answer = ReferenceAnswer(answer.report, _shared(answer.outputs))
        if key in self._callers.get(caller, ()):
            self._drop(caller, key)
        kept = _Kept(answer, size_bytes, self._clock() + LIFE_S)
        self._callers.setdefault(caller, OrderedDict())[key] = kept
        self._callers.move_to_end(caller)
        self._bytes[caller] += size_bytes
        self._answers += 1
        self._descriptors += kept.descriptors
        self._make_room(caller)
        return answer

    def _make_room(self, caller: str) -> None:
        """Drop the least recently used: the caller's own beyond its share, then those of others."""
        while self._bytes[caller] * SHARE > self._most_bytes:
            self._drop_oldest(caller)
        while (
            self._bytes.total() > self._most_bytes
            or self._answers > MAX_ANSWERS
            or self._descriptors > MAX_DESCRIPTORS
        ):
            self._drop_oldest(next(iter(self._callers)))

    def _drop_oldest(self, caller: str) -> None:
        self._drop(caller, next(iter(self._callers[caller])))

    def _drop(self, caller: str, key: str) -> None:
        kept = self._callers[caller].pop(key)
        self._bytes[caller] -= kept.size_bytes
        self._answers -= 1
        self._descriptors -= kept.descriptors
        if not self._callers[caller]:
            del self._callers[caller], self._bytes[caller]


def _shared(outputs: dict[str, Body]) -> dict[str, Body]:
    """Return `outputs` with the large ones in shared memory, where the machine gives any."""
    shared: dict[str, Body] = {}
    for name, data in outputs.items():
        shared[name] = data
        if isinstance(data, bytes) and len(data) >= SHARED_FROM_BYTES:
            try:
                shared[name] = SharedBytes([data])
            except OSError:
                continue  # then it is handed over as it is
    return shared
