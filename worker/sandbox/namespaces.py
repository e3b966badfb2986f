"""Optional namespaces around a whole zygote, for machines that permit them: nothing per child.

In a pid namespace whose first process is the zygote, every descendant dies with it, whatever it did
to get away.
"""

import os
import select
import signal
from pathlib import Path

from worker.sandbox import libc, seccomp

_PID, _NET, _IPC, _UTS, _USER = 0x20000000, 0x40000000, 0x08000000, 0x04000000, 0x10000000
_MOUNTS = 0x00020000


def enter() -> bool:
    """Enter new pid, network, IPC, UTS and mount namespaces, as their first process.

    False where that is not permitted.

    The calling process stays behind only to wait: it ends when the first process of the
    namespace ends, and kills it by its own death. Raises OSError when the namespaces exist but
    cannot be entered.
    """
    number = seccomp.machine().number("unshare")
    assert number is not None
    user, group = os.geteuid(), os.getegid()
    flags = _PID | _NET | _IPC | _UTS | _MOUNTS | (0 if user == 0 else _USER)
    try:
        libc.syscall(number, flags)
    except OSError:
        return False  # as in most containers
    if flags & _USER:
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
    parent = os.pidfd_open(os.getpid())
    first = os.fork()
    if first:
        _, status = os.waitpid(first, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    libc.prctl(libc.PR_SET_PDEATHSIG, signal.SIGKILL)
    if select.select([parent], [], [], 0)[0]:  # it died before the line above
        os._exit(1)
    os.close(parent)
    return True
