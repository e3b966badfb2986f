"""What a worker remembers of the kernels that it had last, in its own memory and within a size.

It knows nothing of what it keeps: keys are made by whoever keeps something, and sizes told.
"""

from collections import OrderedDict
from typing import Generic, TypeVar

MOST_REMEMBERED_BYTES = 32 << 20
_Kept = TypeVar("_Kept")


class KernelMemory(Generic[_Kept]):
    """What was found out of the last kernels, by keys of `compiler.key`, within a size.

    A key holds all that it hangs on, its caller's namespace too: a learner's next try of the same
    kernel reads and compiles nothing.
    """

    def __init__(self, most_bytes: int = MOST_REMEMBERED_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[str, tuple[_Kept, int]] = OrderedDict()

    def get(self, key: str) -> _Kept | None:
        """Return what is known of a kernel."""
        if key not in self._kept:
            return None
        self._kept.move_to_end(key)
        return self._kept[key][0]

    def keep(self, key: str, kept: _Kept, size_bytes: int) -> None:
        """Remember a kernel, and forget those that were asked for the longest time ago."""
        if key in self._kept:
            self._bytes -= self._kept.pop(key)[1]
        self._kept[key] = kept, size_bytes
        self._bytes += size_bytes
        while self._bytes > self._most_bytes:
            self._bytes -= self._kept.popitem(last=False)[1][1]
