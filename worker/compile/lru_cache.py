"""A cache of facts about recent kernels, in the worker's memory and of bounded size."""

from contextlib import suppress
from operator import itemgetter
from typing import Generic, TypeVar

import cachetools

DEFAULT_MAX_BYTES = 32 << 20
_Value = TypeVar("_Value")


class LRUCache(Generic[_Value]):
    """Values by keys of `compiler.key`; the least recently used go first.

    A key covers all that its value depends on, the caller's namespace too: the next try of the same
    kernel reads and compiles nothing.
    """

    def __init__(self, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self._sized: cachetools.LRUCache[str, tuple[_Value, int]] = cachetools.LRUCache(
            max_bytes, getsizeof=itemgetter(1)
        )

    def get(self, key: str) -> _Value | None:
        """Return the value under `key`, now the most recently used."""
        entry = self._sized.get(key)
        return None if entry is None else entry[0]

    def put(self, key: str, value: _Value, size_bytes: int) -> None:
        """Keep `value` unless it is larger than the cache; drop the least recently used ones."""
        with suppress(ValueError):
            self._sized[key] = value, size_bytes
