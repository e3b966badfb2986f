"""The name of a zygote or child in `ps`: it stands where the command line stood.

Standard library alone. setproctitle does more, but is not in the environments of other toolchains.
A child that runs user code can write another name, so nothing may depend on it.
"""

import ctypes
from pathlib import Path

_ARG_START = 45
"""The index behind the name of the command in /proc/PID/stat (field 48 of proc(5))."""


class ProcessTitle:
    """The command line of this process in its memory. A forked child has it at the same place."""

    def __init__(self) -> None:
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        self._start, end = (int(field) for field in fields[_ARG_START : _ARG_START + 2])
        self._size_bytes = end - self._start  # 0 where the kernel does not say

    def set(self, text: str) -> None:
        """Show `text` in `ps`, cut to the length of the command line."""
        if self._size_bytes <= 0:
            return
        # the last byte must stay 0, else the kernel reads on into the environment
        title = text.encode("ascii", "replace")[: self._size_bytes - 1]
        ctypes.memmove(self._start, title.ljust(self._size_bytes, b"\0"), self._size_bytes)
