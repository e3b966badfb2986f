"""Caches initial contents of buffers for later cases of a launch that start with the same ones.

Drawing random numbers takes longer than most references. A child that calls references serves one
launch and ends with it, and so does this cache. References receive copies.
"""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from launch.buffers.allocation import Leaf, memory_of
from launch.buffers.content_key import content_key
from launch.buffers.element_types import Array

MOST_BYTES = 64 << 20
"""Limit of all cached contents; the least recently used are evicted."""


class KnownContents:
    """An LRU cache of initial contents by `content_key`, bounded in bytes."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._held_bytes = 0
        self._memories: OrderedDict[str, Array] = OrderedDict()

    def memory_of(self, described: Mapping[str, Any], layout: Leaf | None, body: bytes) -> Array:
        """Return the elements of an allocation, read-only, as `allocation.memory_of` does."""
        key = content_key(described, layout)
        if key is not None and key in self._memories:
            self._memories.move_to_end(key)
            return self._memories[key]
        made = memory_of(described, layout, body)
        made.flags.writeable = False
        if key is not None and made.nbytes <= self._most_bytes:
            self._keep(key, made)
        return made

    def _keep(self, key: str, made: Array) -> None:
        self._memories[key] = made
        self._held_bytes += made.nbytes
        while self._held_bytes > self._most_bytes:
            _, gone = self._memories.popitem(last=False)
            self._held_bytes -= gone.nbytes
