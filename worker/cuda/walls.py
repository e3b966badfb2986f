"""What a launcher gives up: privileges, networks, files, programs. Runs in launchers.

No user code runs there, so these walls are behind the first one. CUDA reserves address space
without end and starts threads, so neither is limited; and it opens files and sockets of its own
choice while it starts, so files and calls are given up once the context is there.
"""

import contextlib
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

from worker.cuda import calls
from worker.sandbox import apply, landlock, libc, seccomp

LAYERS = (
    "parent_death", "no_new_privs", "rlimits", "namespaces", "capabilities", "dumpable",
    "landlock", "seccomp",
)  # fmt: skip
"""All that a launcher tries to have. The last two are counted when an attempt at them failed."""
OUTPUT_BYTES = 1 << 20
"""The most that a launcher can write into a file, so also into its output."""
_OPEN_FILES = 1024
_NEW_NET, _NEW_IPC = 0x40000000, 0x08000000
_IOCTL_DEV = 1 << 15
_LIBRARIES = ("/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/proc", "/sys")
_NO_PROGRAM = "/nonexistent"


def before_cuda(parent_pid: int, file_bytes: int = OUTPUT_BYTES) -> list[str]:
    """Give up what CUDA does not need to start; return the names of the layers that hold.

    Raises OSError, ValueError when a layer that always can be had cannot.
    """
    libc.die_with_parent(parent_pid, signal.SIGKILL)
    libc.prctl(libc.PR_SET_NO_NEW_PRIVS, 1)
    for kind, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, file_bytes),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
        (resource.RLIMIT_MSGQUEUE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))
    layers = ["parent_death", "no_new_privs", "rlimits"]
    if _without_network():
        layers.append("namespaces")
    apply.drop_capabilities()
    return [*layers, "capabilities"]


def _without_network() -> bool:
    """Move into namespaces without a network. False where that is not permitted."""
    number = seccomp.machine().number("unshare")
    try:
        libc.syscall(number if number is not None else -1, _NEW_NET | _NEW_IPC)
    except OSError:
        return False
    return True


def after_cuda() -> list[str]:
    """Give up files and calls, once the context is there; return the names of what holds.

    A layer that the kernel does not have, or that lets an attempt through, is left out. Landlock
    binds this thread, where all of our code runs, and not those that the driver has started;
    seccomp binds all of them.
    """
    libc.prctl(libc.PR_SET_DUMPABLE, 0)
    layers = ["dumpable"]
    for name, enter, attempts in (
        ("landlock", _confine_files, [_list_the_root]),
        ("seccomp", _give_up_calls, [_open_a_socket, _start_a_program, _signal_the_parent]),
    ):
        with contextlib.suppress(OSError):  # told by its absence
            enter()
            if all(_is_refused(attempt) for attempt in attempts):
                layers.append(name)
    return layers


def _confine_files() -> None:
    """Leave the files of libraries and of the driver."""
    folders = {path for path in (*_LIBRARIES, *_library_path(), sys.prefix, *sys.path) if path}
    rules = [(path, landlock.RUN) for path in sorted(folders) if Path(path).exists()]
    device_rights = landlock.READ | landlock.WRITE_FILE | _IOCTL_DEV
    devices = [*Path("/dev").glob("nvidia*"), Path("/dev/null"), Path("/dev/urandom")]
    rules += [(str(path), device_rights) for path in devices if path.exists()]
    ruleset = landlock.build(rules)
    landlock.enter(ruleset)
    os.close(ruleset)


def _library_path() -> list[str]:
    return os.environ.get("LD_LIBRARY_PATH", "").split(":")


def _give_up_calls() -> None:
    calls.refuse(os.getpid())


def _is_refused(attempt: Callable[[], None]) -> bool:
    try:
        attempt()
    except PermissionError:
        return True
    except OSError:
        return False
    return False


def _list_the_root() -> None:
    os.listdir("/")  # noqa: PTH208 - the plain call is the attempt


def _open_a_socket() -> None:
    socket.socket(socket.AF_UNIX).close()


def _start_a_program() -> None:
    os.execve(_NO_PROGRAM, [_NO_PROGRAM], {})  # noqa: S606 - fails wherever it gets


def _signal_the_parent() -> None:
    os.kill(os.getppid(), 0)
