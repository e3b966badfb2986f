"""The process tree below a process, as /proc shows it."""

import time
from pathlib import Path


def _parents():
    parents = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] != "Z":
                parents[int(folder.name)] = int(fields[1])
    return parents


def descendants(pid):
    """Return the living processes below `pid`."""
    parents = _parents()
    found, border = set(), {pid}
    while border:
        border = {child for child, parent in parents.items() if parent in border} - found
        found |= border
    return found


def zygote_of(pool):
    """Return the pids from the process that the worker started down to the zygote that forks."""
    chain = [pool.zygote_pid]
    if pool.facts["namespaces"]:
        chain += [pid for pid, parent in _parents().items() if parent == chain[0]]
    return chain


def wait_until_dead(pids, within_s=5.0):
    """Return which of `pids` are still alive after at most `within_s`."""
    until = time.monotonic() + within_s
    while (left := set(pids) & _parents().keys()) and time.monotonic() < until:
        time.sleep(0.02)
    return left
