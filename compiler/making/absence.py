"""Hides an installed library from imports, so that every environment's zygotes are alike.

With torch in one worker's environment and not in another's, what a source finds when it imports
torch would differ between them, and so could what the same toolchain makes of it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def absence(library: str) -> Iterator[None]:
    """Let imports of `library` fail in the block, as if it were not installed."""
    modules: dict[str, Any] = sys.modules
    modules[library] = None
    try:
        yield
    finally:
        del modules[library]
