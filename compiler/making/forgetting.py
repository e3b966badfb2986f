"""What a child that does one job after the other lets go of between them."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from typing import Any


def forget() -> None:
    """Empty every cache that a task of ours or the standard library's reader of texts may fill."""
    for cache in list(_caches()):
        cache.cache_clear()
    linecache.clearcache()


def _caches() -> Iterator[Any]:
    """Yield the `lru_cache`s of our modules: what they hold was made from somebody's text."""
    for name, module in list(sys.modules.items()):
        if name.startswith("compiler."):
            found = vars(module).values()
            yield from (thing for thing in list(found) if hasattr(thing, "cache_clear"))
