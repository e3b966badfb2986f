"""System call numbers of the two supported machines, and the sets of calls profiles are made of.

x86_64 numbers come from the kernel's `unistd_64.h`, aarch64 numbers from the generic table
(`asm-generic/unistd.h`).
"""

from dataclasses import dataclass

_Numbers = dict[str, tuple[int | None, int | None]]
"""The number on x86_64, and on aarch64, by a call's name."""

_OF_EVERY_CHILD: _Numbers = {
    # memory, its own pipes, its own signals, the clock, the end
    "read": (0, 63),
    "write": (1, 64),
    "close": (3, 57),
    "lseek": (8, 62),
    "fstat": (5, 80),
    "mmap": (9, 222),
    "munmap": (11, 215),
    "mprotect": (10, 226),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "brk": (12, 214),
    "futex": (202, 98),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sigaltstack": (131, 132),
    "getpid": (39, 172),
    "gettid": (186, 178),
    "getrandom": (318, 278),
    "clock_gettime": (228, 113),
    "exit": (60, 93),
    "exit_group": (231, 94),
    "getrusage": (98, 165),
    "poll": (7, None),
    "ppoll": (271, 73),
}
_ANSWERED: _Numbers = {
    # answered by argument, or with an error that libraries know how to take
    "tgkill": (234, 131),
    "prlimit64": (302, 261),
    "ioctl": (16, 29),
    "clone3": (435, 435),
    "clone": (56, 220),
}
_OF_TOOLS: _Numbers = {
    # what the back end and ptxas do besides: open files, make memfds, start one program
    "open": (2, None),
    "openat": (257, 56),
    "stat": (4, None),
    "lstat": (6, None),
    "newfstatat": (262, 79),
    "statx": (332, 291),
    "access": (21, None),
    "faccessat": (269, 48),
    "faccessat2": (439, 439),
    "readlink": (89, None),
    "readlinkat": (267, 78),
    "getcwd": (79, 17),
    "getdents64": (217, 61),
    "statfs": (137, 43),
    "fstatfs": (138, 44),
    "dup": (32, 23),
    "dup2": (33, None),
    "dup3": (292, 24),
    "pipe": (22, None),
    "pipe2": (293, 59),
    "fcntl": (72, 25),
    "pread64": (17, 67),
    "pwrite64": (18, 68),
    "readv": (19, 65),
    "writev": (20, 66),
    "memfd_create": (319, 279),
    "ftruncate": (77, 46),
    "fadvise64": (221, 223),
    "sendfile": (40, 71),
    "copy_file_range": (326, 285),
    "vfork": (58, None),
    "execve": (59, 221),
    "wait4": (61, 260),
    "waitid": (247, 95),
    "set_tid_address": (218, 96),
    "set_robust_list": (273, 99),
    "rseq": (334, 293),
    "arch_prctl": (158, None),
    "uname": (63, 160),
    "sysinfo": (99, 179),
    "umask": (95, 166),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
    "getppid": (110, 173),
    "getpgrp": (111, None),
    "getpgid": (121, 155),
    "sched_getaffinity": (204, 123),
    "sched_yield": (24, 124),
    "nanosleep": (35, 101),
    "clock_nanosleep": (230, 115),
    "clock_getres": (229, 114),
    "gettimeofday": (96, 169),
    "time": (201, None),
    "times": (100, 153),
    "getrlimit": (97, 163),
    "select": (23, None),
    "pselect6": (270, 72),
    "restart_syscall": (219, 128),
    "close_range": (436, 436),
    "getcpu": (309, 168),
    "membarrier": (324, 283),
    "mincore": (27, 232),
    "msync": (26, 227),
    "rt_sigpending": (127, 136),
    "rt_sigtimedwait": (128, 137),
}
_OF_LAYERS: _Numbers = {
    # installing the layers themselves; never allowed afterwards
    "seccomp": (317, 277),
    "capset": (126, 91),
    "unshare": (272, 97),
    "setns": (308, 268),
    "pivot_root": (155, 41),
    "umount2": (166, 39),
}

_NUMBERS: _Numbers = _OF_EVERY_CHILD | _ANSWERED | _OF_TOOLS | _OF_LAYERS

QUIET: frozenset[str] = frozenset(_OF_EVERY_CHILD)
"""Enough for Python and the Triton front end on preloaded modules: no file, no process, no socket.
"""

RECORDING: frozenset[str] = QUIET - {"poll", "ppoll", "lseek", "fstat"}
"""Enough for torch's fake tensors and Triton's JIT functions, all of it preloaded."""

PROVING: frozenset[str] = QUIET | {"memfd_create", "openat", "pread64"}
"""`QUIET`, and the calls with which MLIR reads IR from a file in memory."""

TOOLING: frozenset[str] = QUIET | frozenset(_OF_TOOLS)
"""`QUIET`, and the calls for reading named files and running ptxas."""


@dataclass(frozen=True, slots=True)
class Machine:
    """One architecture: its audit identifier, and its column in the table above."""

    name: str
    audit_arch: int
    column: int
    has_x32: bool

    def number(self, name: str) -> int | None:
        """Return the number of the call `name`, or None where this machine has no such call."""
        return _NUMBERS[name][self.column]


MACHINES = {
    "x86_64": Machine("x86_64", 0xC000003E, 0, has_x32=True),
    "aarch64": Machine("aarch64", 0xC00000B7, 1, has_x32=False),
}
