"""System calls through ctypes, with errno as OSError."""

import ctypes
import os

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.syscall.restype = ctypes.c_long

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38


def syscall(number: int, *arguments: object) -> int:
    """Make the system call `number`; integers are passed as longs.

    Raises OSError with the kernel's errno.
    """
    passed = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = int(_LIBC.syscall(ctypes.c_long(number), *passed))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def mount(
    source: str | None, target: str, kind: str | None, flags: int, options: str | None
) -> None:
    """Mount, or change a mount. Raises OSError."""
    texts = [text.encode() if text is not None else None for text in (source, target, kind)]
    data = options.encode() if options is not None else None
    if _LIBC.mount(*texts, ctypes.c_ulong(flags), data) < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), target)


def prctl(option: int, argument: int) -> None:
    """Set one attribute of this process. Raises OSError."""
    zero = ctypes.c_ulong(0)
    if _LIBC.prctl(ctypes.c_int(option), ctypes.c_ulong(argument), zero, zero, zero) < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def die_with_parent(parent_pid: int, signal_number: int) -> None:
    """Have the kernel send `signal_number` when the parent dies; end now if it is dead already."""
    prctl(PR_SET_PDEATHSIG, signal_number)
    if os.getppid() != parent_pid:
        os._exit(1)
