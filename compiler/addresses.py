"""Takes addresses of memory out of texts: they differ from run to run, and an answer must not.

A failure is answered to everybody who posts the same source again, so its words are those of the
source alone.
"""

from __future__ import annotations

import re

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]{4,16}\b|\b0x[0-9a-fA-F]{9,16}(?=: )")
"""As Python's `repr` writes it (`<function g at 0x7f2a...>`), and LLVM before a node's text."""


def without_addresses(text: str) -> str:
    """Return `text` with `<function g at 0x7f2a...>` as `<function g>`."""
    return _ADDRESS.sub("", text) if "0x" in text else text
