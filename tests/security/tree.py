"""The process tree below a process, as /proc shows it."""

from pathlib import Path

from tests.waiting import wait_until

DEATH_S = 45.0
"""Less than the deadlines of these tests' jobs, which must not be the cause."""


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


def wait_until_dead(pids):
    """Wait until all of `pids` have ended; fail with the remaining ones."""

    def left():
        return set(pids) & _parents().keys()

    wait_until(lambda: not left(), "all are dead", lambda: f"these live: {left()}", DEATH_S)
