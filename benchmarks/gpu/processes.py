"""CPU time and memory of the processes of a tritond, by kind (from /proc)."""

import os
from collections import Counter
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_KINDS = (
    ("launcher", "launcher"),
    ("zygote", "children"),
    ("stand_in_gpu", "worker"),
    ("-m\0worker", "worker"),
    ("-m\0service\0", "service"),
    ("valkey", "valkey"),
)
"""A part of the command line of each kind; the first match counts."""


def cpu_ms(root: int) -> Counter[str]:
    """Return the CPU milliseconds of the processes below `root`, by kind."""
    used: Counter[str] = Counter()
    for pid, kind in _below(root):
        fields = _stat(pid)
        if fields:
            used[kind] += 1000 * (int(fields[11]) + int(fields[12])) // _TICKS_PER_S
    return used


def resident_bytes(root: int) -> Counter[str]:
    """Return the memory of the processes below `root`; shared pages are split between them.

    `shared` is shared memory of no process, such as outputs in transit.
    """
    held: Counter[str] = Counter(shared=_kib_of(Path("/proc/meminfo"), "Shmem") << 10)
    for pid, kind in _below(root):
        held[kind] += _kib_of(Path(f"/proc/{pid}/smaps_rollup"), "Pss") << 10
    return held


def _kib_of(path: Path, name: str) -> int:
    """Return a number of a file of lines such as "Pss:  12 kB"; 0 if the process has ended."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), 0)


def _below(root: int) -> list[tuple[int, str]]:
    """Return the current descendants of a process with their kinds."""
    descendants: list[tuple[int, str]] = []
    for pid in _children(root):
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace") + "\0"
        except OSError:
            continue  # it has ended meanwhile
        kind = next((kind for part, kind in _KINDS if part in command), "other")
        descendants += [(pid, kind), *_below(pid)]
    return descendants


def _children(pid: int) -> list[int]:
    children: list[int] = []
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children += map(int, listed.read_text().split())
        except OSError:
            continue
    return children


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
