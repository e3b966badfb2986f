"""The command `tritonc` on a terminal of its own, as a person has it before them."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

COMMAND = [sys.executable, "-m", "tritonc"]


class OnTerminal:
    """A command with a terminal of its own; `said` is all that it wrote there."""

    def __init__(self, words: list[str], folder: Path, url: str, **environment: str) -> None:
        self._ours, theirs = pty.openpty()
        self.said = ""
        self.process = subprocess.Popen(
            [*COMMAND, *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=folder,
            env={"TRITOND_URL": url, "TERM": "xterm", "COLUMNS": "100", **environment},
        )
        os.close(theirs)
        os.set_blocking(self._ours, False)

    def reads(self, words: str) -> bool:
        """Whether `words` were written by now."""
        try:
            while data := os.read(self._ours, 1 << 16):
                self.said += data.decode()
        except BlockingIOError:
            pass
        except OSError:  # what Linux says once nobody writes any more
            pass
        return words in self.said

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._ours)
