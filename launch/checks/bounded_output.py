"""A stream that forwards a kernel's output up to a limit and drops the rest."""

import io
from typing import TextIO

MAX_OUTPUT_BYTES = 60 << 10


class BoundedOutput(io.TextIOBase):
    """Replaces `sys.stdout`; prints one note when it starts to drop output."""

    def __init__(self, stream: TextIO, longest_bytes: int = MAX_OUTPUT_BYTES) -> None:
        self._stream = stream
        self._left = longest_bytes

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, text: str) -> int:
        """Write the part of `text` that still fits; return the length of all of `text`."""
        if self._left > 0:
            self._stream.write(text[: self._left])
            self._left -= len(text.encode(errors="replace"))
            if self._left <= 0:
                self._stream.write("\n... the rest of the output is left out\n")
        return len(text)

    def flush(self) -> None:
        """Flush the underlying stream."""
        self._stream.flush()
