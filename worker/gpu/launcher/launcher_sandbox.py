"""The sandbox of a launcher: drops privileges, networks, files, programs. Runs in launchers.

No user code runs there, so this sandbox is a second line of defence. CUDA reserves address space
without end, starts threads, and opens files and sockets that it chooses while it starts: so files
and calls are given up once the context is there, and the calls that are refused are named, where
for children those are named that are permitted.
"""

import contextlib
import errno
import os
import platform
import resource
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

from worker.sandbox import apply, bpf, landlock, libc, seccomp

_CLONE_THREAD = 0x00010000

# name: number on x86_64, on aarch64 (None: no such call there)
_REFUSED: dict[str, tuple[int | None, int | None]] = {
    "fork": (57, None),
    "vfork": (58, None),
    "execve": (59, 221),
    "execveat": (322, 281),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "connect": (42, 203),
    "bind": (49, 200),
    "recvmsg": (47, 212),
    "recvmmsg": (299, 243),
    "sendmmsg": (307, 269),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_by_handle_at": (304, 265),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "kexec_load": (246, 104),
    "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
}
_OWN_PROCESS_ONLY = {"kill": (62, 129), "tgkill": (234, 131)}
_RESULTS_ONLY = {"sendmsg": (46, 211)}
"""Launchers send descriptors to the worker, and receive none."""
_OWN_LIMITS_ONLY = {"prlimit64": (302, 261)}
_FCNTL = (72, 25)
_SIGNALLING_COMMANDS = (8, 10, 15)
"""F_SETOWN, F_SETSIG, F_SETOWN_EX: the kernel would signal any process about a descriptor."""
_CLONE, _CLONE3 = (56, 220), (435, 435)
_COLUMNS = {"x86_64": 0, "aarch64": 1}


def refuse(own_pid: int, results: int) -> None:
    """Give the calls up irrevocably, in all threads. NO_NEW_PRIVS must be set. Raises OSError.

    `results` is the descriptor that leads to the worker.
    """
    target = seccomp.machine()
    program = bpf.program_of(target, _bodies(own_pid, results), bpf.PERMIT)
    bpf.install(bpf.assemble(program), target, bpf.ALL_THREADS)


def _bodies(own_pid: int, results: int) -> list[tuple[int | None, list[bpf.Instruction]]]:
    column = _COLUMNS[platform.machine()]
    refused = bpf.refuse(errno.EPERM)
    if_own = [bpf.argument(0), (bpf.EQUAL, 0, 1, own_pid), bpf.PERMIT, refused]
    if_results = [bpf.argument(0), (bpf.EQUAL, 0, 1, results), bpf.PERMIT, refused]
    if_own_limits = [
        bpf.argument(0), (bpf.EQUAL, 1, 0, 0), (bpf.EQUAL, 0, 1, own_pid), bpf.PERMIT, refused
    ]  # fmt: skip
    commands = [
        (bpf.EQUAL, len(_SIGNALLING_COMMANDS) - at, 0, command)
        for at, command in enumerate(_SIGNALLING_COMMANDS)
    ]
    if_silent = [bpf.argument(1), *commands, bpf.PERMIT, refused]
    if_thread = [bpf.argument(0), (bpf.ANY_BIT, 0, 1, _CLONE_THREAD), bpf.PERMIT, refused]
    bodies = [(numbers, [refused]) for numbers in _REFUSED.values()]
    bodies += [(numbers, if_own) for numbers in _OWN_PROCESS_ONLY.values()]
    bodies += [(numbers, if_results) for numbers in _RESULTS_ONLY.values()]
    bodies += [(numbers, if_own_limits) for numbers in _OWN_LIMITS_ONLY.values()]
    bodies.append((_FCNTL, if_silent))
    # the flags of clone3 are behind a pointer; the C library then makes threads with clone
    bodies += [(_CLONE3, [bpf.refuse(errno.ENOSYS)]), (_CLONE, if_thread)]
    return [(numbers[column], body) for numbers, body in bodies]


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


def before_cuda(
    parent_pid: int, file_bytes: int = OUTPUT_BYTES, largest_file_bytes: int = 0
) -> list[str]:
    """Give up what CUDA does not need to start; return the names of the layers that hold.

    `file_bytes` is the most that is written into a file, unless the process lifts that itself, up
    to `largest_file_bytes`: for memory that it shares. Raises OSError, ValueError when a layer that
    always can be had cannot.
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
        most = value
        if kind == resource.RLIMIT_FSIZE and largest_file_bytes > value:
            most = largest_file_bytes if hard == resource.RLIM_INFINITY else hard
        resource.setrlimit(kind, (value, most))
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


def after_cuda(results: int) -> list[str]:
    """Give up files and calls, once the context is there; return the names of the layers that hold.

    `results` is the descriptor of the socket, or pipe, that leads to the worker.

    A layer that the kernel does not have, or that lets an attempt through, is left out. Landlock
    binds this thread, where all of our code runs, and not those that the driver has started;
    seccomp binds all of them.
    """
    libc.prctl(libc.PR_SET_DUMPABLE, 0)
    layers = ["dumpable"]
    for name, enter, attempts in (
        ("landlock", _confine_files, [_list_the_root]),
        (
            "seccomp",
            lambda: refuse(os.getpid(), results),
            [_open_a_socket, _start_a_program, _signal_the_parent],
        ),
    ):
        with contextlib.suppress(OSError):  # its absence shows it
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
