"""Tries to break out of a real child, and reports which attempts succeeded.

Every attempt is harmless where it succeeds: signal 0, an own socket that is closed again, one of
our files.
"""

import ctypes
import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

# the last one is set by the making side itself, for the names of failing passes
_EXPECTED_ENVIRONMENT = {"PYTHONHASHSEED", "LC_CTYPE", "TRITON_REPRODUCER_PATH"}
_PTRACE_CONT = 7


def _read(path: str) -> Callable[[], object]:
    return lambda: Path(path).read_bytes()


def _open_socket(family: int, kind: int) -> Callable[[], object]:
    return lambda: socket.socket(family, kind).close()


def _write_file() -> None:
    path = Path("/tmp") / f"selftest-{os.getpid()}"  # noqa: S108 - that it cannot be made is the point
    path.write_bytes(b"")
    path.unlink()


def _fork() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def _execute(path: str) -> None:
    pid = os.posix_spawn(path, [path], {})
    _, status = os.waitpid(pid, 0)
    if status != 0:
        raise PermissionError("the program did not run")


def _trace() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace(_PTRACE_CONT, os.getpid(), None, None)
    if ctypes.get_errno() == errno.EPERM:  # ESRCH if it is permitted: no process traces this one
        raise PermissionError(errno.EPERM, "ptrace")


def _read_memory_of_parent() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.process_vm_readv(os.getppid(), None, 0, None, 0, 0) < 0:
        raise PermissionError(ctypes.get_errno(), "process_vm_readv")


def _see_environment(expected: set[str]) -> None:
    if set(os.environ) <= expected:
        raise PermissionError("only what the zygote was given")


def _everywhere(environment: set[str]) -> dict[str, Callable[[], object]]:
    return {
        "read /etc/passwd": _read("/etc/passwd"),
        "read /proc/self/environ": _read("/proc/self/environ"),
        "read /proc/1/environ": _read("/proc/1/environ"),
        "list /": lambda: list(Path("/").iterdir()),
        "foreign environment": lambda: _see_environment(environment),
        "write /tmp": _write_file,
        "socket inet": _open_socket(socket.AF_INET, socket.SOCK_STREAM),
        "socket inet udp": _open_socket(socket.AF_INET, socket.SOCK_DGRAM),
        "socket inet6": _open_socket(socket.AF_INET6, socket.SOCK_STREAM),
        "socket unix": _open_socket(socket.AF_UNIX, socket.SOCK_STREAM),
        "socket netlink": _open_socket(socket.AF_NETLINK, socket.SOCK_RAW),
        "socketpair": socket.socketpair,
        "signal the parent": lambda: os.kill(os.getppid(), 0),
        "trace": _trace,
        "read the parent's memory": _read_memory_of_parent,
        "run /bin/sh": lambda: _execute("/bin/sh"),
        "new session": os.setsid,
    }


def _without_tools() -> dict[str, Callable[[], object]]:
    return {
        "open anything": lambda: os.open("/dev/null", os.O_RDONLY),
        "see metadata": Path("/").stat,
        "fork": _fork,
        "pipe": os.pipe,
    }


def task(
    header: dict[str, Any],
    _body: bytes,
    _send: Callable[[dict[str, Any], bytes], None],
) -> dict[str, Any]:
    """Return {"passed": number of attempts that were refused, "failed".

    Names of those that were not}. The header's `environment` is what the zygote was given.
    """
    attempts = _everywhere(_EXPECTED_ENVIRONMENT | set(header.get("environment", ())))
    if not header["may_run_tools"]:
        attempts |= _without_tools()
    if not header["may_open"]:
        attempts["memfd"] = lambda: os.close(os.memfd_create("selftest"))
    failed = []
    for name, attempt in attempts.items():
        try:
            attempt()
        except OSError:
            continue
        failed.append(name)
    return {"passed": len(attempts) - len(failed), "failed": failed}
