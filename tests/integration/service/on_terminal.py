"""A running `tritonc` command on a pseudo-terminal or with pipes."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.waiting import LIMIT_S

COMMAND = [sys.executable, "-m", "tritonc"]


class OnTerminal:
    """A command on its own terminal; `said` is its whole output there."""

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
        """Return True once `words` have been written."""
        try:
            while data := os.read(self._ours, 1 << 16):
                self.said += data.decode()
        except BlockingIOError:
            pass
        except OSError:  # Linux reports this after the last writer has closed
            pass
        return words in self.said

    def close(self) -> None:
        self.process.kill()
        self.process.wait(LIMIT_S)
        os.close(self._ours)


@contextmanager
def piped(words: list[str], folder: Path, url: str) -> Iterator[subprocess.Popen[str]]:
    """Run the command with pipes for its output; it ends with the block."""
    process = subprocess.Popen(
        [*COMMAND, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={"TRITOND_URL": url, "PYTHONUNBUFFERED": "1"},
    )
    with process:
        try:
            yield process
            process.wait(timeout=60)
        finally:
            process.kill()
