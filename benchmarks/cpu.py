"""CPU seconds of processes, from /proc/<pid>/stat (proc(5))."""

import os
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def own_cpu_s(pid: int) -> float:
    """Return the user and system CPU seconds of one process."""
    return sum(_times(pid)[:2]) / _TICKS_PER_S


def tree_cpu_s(pid: int) -> float:
    """Return those of a process and all its descendants, including reaped ones."""
    return sum(_times(pid)) / _TICKS_PER_S + sum(tree_cpu_s(child) for child in _children(pid))


def _times(pid: int) -> list[int]:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):  # it just ended: its parent has its times
        return [0]
    return [int(ticks) for ticks in fields[11:15]]


def _children(pid: int) -> list[int]:
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    try:
        return [int(child) for thread in threads for child in thread.read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []
