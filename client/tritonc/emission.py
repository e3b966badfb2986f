"""Where `--emit` writes: rustc's rule, a stage by itself goes to a file named after the source."""

import sys
from collections.abc import Sequence
from pathlib import Path

STDOUT = "-"
ON_DEMAND = frozenset({"sass"})  # made when first asked for, so never part of the answer


def planned(words: Sequence[str], source_name: str) -> dict[str, str]:
    """Return the path to write for each `STAGE[=PATH]`; `-` is standard output."""
    stem = "kernel" if source_name == STDOUT else Path(source_name).stem
    plan = {}
    for word in words:
        stage, _, path = word.partition("=")
        plan[stage] = path or f"{stem}.{stage}"
    return plan


def write(content: str | bytes, path: str) -> None:
    """Write an artifact to a file, or to standard output for `-`.

    Raises OSError if it cannot be written; a binary is not written to a terminal.
    """
    data = content.encode() if isinstance(content, str) else content
    if path != STDOUT:
        Path(path).write_bytes(data)
        return
    if sys.stdout.isatty() and b"\0" in data:
        raise OSError("this is a binary and standard output a terminal; redirect it to a file")
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
