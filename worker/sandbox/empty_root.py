"""A mount namespace without any file, for children that may open none.

It is made once by a zygote, and entered by each of its children. Needs its own namespaces.
"""

import os
from pathlib import Path

from worker.sandbox import libc, seccomp

_NEW_MOUNTS = 0x00020000
_RECURSIVE, _PRIVATE, _READ_ONLY, _REMOUNT = 1 << 14, 1 << 18, 1, 1 << 5
_NO_SUID, _NO_DEVICES, _NO_PROGRAMS = 2, 4, 8
_LOCKED = _NO_SUID | _NO_DEVICES | _NO_PROGRAMS
_DETACH = 2
_PLACE = "/proc"  # any folder that is everywhere; it is covered in the new namespace alone


def make() -> int:
    """Return the descriptor of such a namespace; the caller stays where it is. Raises OSError.

    The caller's mount namespace must be its own, as `namespaces.enter` makes it.
    """
    here = os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _call("unshare", _NEW_MOUNTS)
        made = os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
        try:
            _empty()
        except OSError:
            os.close(made)
            raise
        finally:
            _call("setns", here, _NEW_MOUNTS)
    finally:
        os.close(here)
    return made


def _empty() -> None:
    libc.mount(None, "/", None, _RECURSIVE | _PRIVATE, None)
    libc.mount("none", _PLACE, "tmpfs", _LOCKED, "size=4k,nr_inodes=2,mode=555")
    os.chdir(_PLACE)
    number = seccomp.machine().number("pivot_root")
    libc.syscall(number if number is not None else -1, b".", b".")
    _call("umount2", b".", _DETACH)
    libc.mount(None, "/", None, _REMOUNT | _READ_ONLY | _LOCKED, None)
    if entries := list(Path("/").iterdir()):
        raise OSError(0, f"the empty root holds {entries[0]}")


def enter(namespace: int) -> None:
    """Leave all files behind. Needs CAP_SYS_ADMIN and CAP_SYS_CHROOT; raises OSError."""
    _call("setns", namespace, _NEW_MOUNTS)


def _call(name: str, *arguments: object) -> None:
    number = seccomp.machine().number(name)
    assert number is not None
    libc.syscall(number, *arguments)
