"""A bound on the memory and the processes of all children of one worker together.

Limits of a single process do not see memory that several share or a file holds, and add up. What
exceeds the bound is ended by the kernel, and nothing else of the machine. Needs a cgroup that this
process may make groups in: root's, or one delegated to it; everywhere else there is none.

Follows the kernel's Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst.
"""

import contextlib
import os
import secrets
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PREFIX = "tritond-children-"
_CONTROLLERS = {"memory", "pids"}
_EMPTY_S, _PAUSE_S = 2.0, 0.01
_YOUNG_S = 60.0
"""A group without processes may belong to a worker that is starting."""
_PARENT_GROUP = "tritond-worker-"


class NoCgroup(Exception):
    """This process cannot have a cgroup on this machine; the message explains why."""


@dataclass(frozen=True, slots=True)
class Cgroup:
    """The group of a worker's children, and what they may use together."""

    folders: tuple[Path, ...]
    memory_bytes: int | None
    """The limit of the group's memory; None: this machine sets none. The same for processes."""
    processes: int | None

    @property
    def entrances(self) -> list[str]:
        """The files into which a process writes "0" to be in it, with all that it starts."""
        return [str(folder / "cgroup.procs") for folder in self.folders]

    def holds(self, pid: int) -> bool:
        """Return True if a process is in it. Raises OSError."""
        return all(str(pid) in _words(folder / "cgroup.procs") for folder in self.folders)

    def remove(self) -> None:
        """Kill all processes of the group and remove it; it stays if some do not end."""
        until = time.monotonic() + _EMPTY_S
        while any(not _try_remove(folder) for folder in self.folders) and time.monotonic() < until:
            time.sleep(_PAUSE_S)


def _try_remove(folder: Path) -> bool:
    try:
        for pid in _words(folder / "cgroup.procs"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False  # they are still dying
    return True


def enter(entrances: list[str]) -> None:
    """Move this process into the group with these entrances. Raises OSError."""
    for path in entrances:
        Path(path).write_text("0", encoding="utf-8")


def make(memory_bytes: int, processes: int, root: Path = Path("/")) -> Cgroup:
    """Return a new group for children of this process. Raises NoCgroup.

    Groups that workers before left behind are removed. Everything is looked for below `root`.
    """
    name = _name()
    try:
        hierarchies = _hierarchies(root)
        parent = hierarchies.get("")
        here = _words(parent / "cgroup.controllers") & _CONTROLLERS if parent is not None else set()
        if parent is not None and here:
            return _make_unified(parent, here, name, memory_bytes, processes)
        if not hierarchies.keys() & _CONTROLLERS:
            raise NoCgroup("the cgroup of this process has neither memory nor pids")
        return _make_divided(hierarchies, name, memory_bytes, processes)
    except OSError as error:
        raise NoCgroup(f"{error.filename}: {error.strerror}") from error


def _name() -> str:
    """Return a unique name: containers reuse the same process ids."""
    return f"{_PREFIX}{os.getpid()}-{secrets.token_hex(4)}"


def _hierarchies(root: Path) -> dict[str, Path]:
    """Return this process's own group in each hierarchy, by controller; "" is the unified one."""
    mounts = dict(_mounts(root))
    folders = {}
    for line in (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            if controller in mounts:
                top, mounted = mounts[controller]
                inside = path.removeprefix(mounted if mounted != "/" else "")
                folders[controller] = root / top.lstrip("/") / inside.lstrip("/")
    return folders


def _mounts(root: Path) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield each controller with where its hierarchy is mounted, and which group is there."""
    for line in (root / "proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        before, _, behind = line.partition(" - ")
        fields, (kind, _, options) = before.split(), behind.split()[:3]
        for controller in options.split(",") if kind == "cgroup" else [""]:
            if kind in ("cgroup", "cgroup2"):
                yield controller, (fields[4], fields[3])


def _words(file: Path) -> set[str]:
    return set(file.read_text(encoding="utf-8").split())


def _make_unified(
    parent: Path, here: set[str], name: str, memory_bytes: int, processes: int
) -> Cgroup:
    if not here <= _words(parent / "cgroup.subtree_control"):
        _hand_down(parent, here)
    folder = _made(parent, name)
    if "memory" in here:
        _write(folder / "memory.max", memory_bytes)
        if (folder / "memory.swap.max").exists():
            _write(folder / "memory.swap.max", 0)
    if "pids" in here:
        _write(folder / "pids.max", processes)
    return _make_bounded((folder,), here, memory_bytes, processes)


def _make_bounded(
    folders: tuple[Path, ...], here: set[str], memory_bytes: int, processes: int
) -> Cgroup:
    return Cgroup(
        folders, memory_bytes if "memory" in here else None, processes if "pids" in here else None
    )


def _hand_down(parent: Path, controllers: set[str]) -> None:
    """Let groups below `parent` have limits; this process moves down if it is alone in it."""
    wanted = " ".join(f"+{controller}" for controller in sorted(controllers))
    try:
        (parent / "cgroup.subtree_control").write_text(wanted, encoding="utf-8")
    except OSError:
        if _words(parent / "cgroup.procs") != {str(os.getpid())}:
            raise
        enter([str(_made(parent, f"{_PARENT_GROUP}{os.getpid()}") / "cgroup.procs")])
        (parent / "cgroup.subtree_control").write_text(wanted, encoding="utf-8")


def _make_divided(
    hierarchies: dict[str, Path], name: str, memory_bytes: int, processes: int
) -> Cgroup:
    here = sorted(hierarchies.keys() & _CONTROLLERS)
    folders = {controller: _made(hierarchies[controller], name) for controller in here}
    if memory := folders.get("memory"):
        _write(memory / "memory.limit_in_bytes", memory_bytes)
        with contextlib.suppress(OSError):  # a kernel that does not count swap
            _write(memory / "memory.memsw.limit_in_bytes", memory_bytes)
    if pids := folders.get("pids"):
        _write(pids / "pids.max", processes)
    return _make_bounded(tuple(folders.values()), set(here), memory_bytes, processes)


def _made(parent: Path, name: str) -> Path:
    for left in parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # some process is in it
            if left.stat().st_mtime < time.time() - _YOUNG_S:
                left.rmdir()
    folder = parent / name
    folder.mkdir(exist_ok=True)
    return folder


def _write(file: Path, limit: int) -> None:
    """Set a limit, and check that it holds. Raises OSError, NoCgroup."""
    file.write_text(str(limit), encoding="utf-8")
    held = file.read_text(encoding="utf-8").strip()
    if not held.isdigit() or int(held) > limit:
        raise NoCgroup(f"{file} is {held} after {limit} was written to it")


def machine_memory_bytes() -> int:
    """Return the available memory, within this process's own memory group."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = [total]
    with contextlib.suppress(OSError):
        for folder in _hierarchies(Path("/")).values():
            for file in ("memory.max", "memory.limit_in_bytes"):
                with contextlib.suppress(OSError, ValueError):  # no such file; "max"
                    limits.append(int((folder / file).read_text(encoding="utf-8")))
    return min(limits)
