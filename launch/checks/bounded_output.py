"""The output of a kernel: passed on up to a bound, then dropped."""

from __future__ import annotations

import io
from typing import TextIO

LONGEST_OUTPUT_BYTES = 60 << 10


class BoundedOutput(io.TextIOBase):
    """Replaces `sys.stdout`; reports once that the rest is omitted."""

    def __init__(self, stream: TextIO, longest_bytes: int = LONGEST_OUTPUT_BYTES) -> None:
        self._stream = stream
        self._left = longest_bytes

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, text: str) -> int:
        """Write as much of `text` as still fits; return its whole length."""
        if self._left > 0:
            self._stream.write(text[: self._left])
            self._left -= len(text.encode(errors="replace"))
            if self._left <= 0:
                self._stream.write("\n... the rest of the output is left out\n")
        return len(text)

    def flush(self) -> None:
        """Pass on the written text."""
        self._stream.flush()
