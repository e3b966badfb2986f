"""What a launcher gives up: privileges, networks, files. Runs in launchers.

No user code runs there, so these walls are behind the first one. CUDA reserves address space
without end and starts threads, so neither is limited.
"""

import os
import resource
import signal
import sys
from pathlib import Path

from worker.sandbox import landlock, libc, seccomp

OUTPUT_BYTES = 1 << 20
"""The most that a launcher can write into a file, so also into its output."""
_OPEN_FILES = 1024
_NEW_NET, _NEW_IPC = 0x40000000, 0x08000000
_IOCTL_DEV = 1 << 15
_LIBRARIES = ("/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/proc", "/sys")


def before_cuda(parent_pid: int) -> list[str]:
    """Give up what CUDA does not need to start; return the names of the layers that hold.

    Raises OSError, ValueError when a layer that always can be had cannot.
    """
    libc.die_with_parent(parent_pid, signal.SIGKILL)
    libc.prctl(libc.PR_SET_NO_NEW_PRIVS, 1)
    for kind, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, OUTPUT_BYTES),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
        (resource.RLIMIT_MSGQUEUE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))
    layers = ["parent_death", "no_new_privs", "rlimits"]
    if _without_network():
        layers.append("namespaces")
    return layers


def _without_network() -> bool:
    """Move into namespaces without a network. False where that is not permitted."""
    number = seccomp.machine().number("unshare")
    try:
        libc.syscall(number if number is not None else -1, _NEW_NET | _NEW_IPC)
    except OSError:
        return False
    return True


def after_cuda() -> list[str]:
    """Give up all files but the driver's and libraries, once the context is there.

    Raises OSError where Landlock is absent.
    """
    folders = {path for path in (*_LIBRARIES, *_library_path(), sys.prefix, *sys.path) if path}
    rules = [(path, landlock.RUN) for path in sorted(folders) if Path(path).exists()]
    device_rights = landlock.READ | landlock.WRITE_FILE | _IOCTL_DEV
    devices = [*Path("/dev").glob("nvidia*"), Path("/dev/null"), Path("/dev/urandom")]
    rules += [(str(path), device_rights) for path in devices if path.exists()]
    ruleset = landlock.build(rules)
    landlock.enter(ruleset)
    os.close(ruleset)
    libc.prctl(libc.PR_SET_DUMPABLE, 0)
    return ["landlock", "dumpable"]


def _library_path() -> list[str]:
    return os.environ.get("LD_LIBRARY_PATH", "").split(":")
