"""Processes that end with the one that started them, even when that is killed (prctl(2)).

The kernel means the *thread* that started them, so start them from one that lives long enough.
"""

import os
import sys

# Run between fork and exec in a process of its own: a preexec_fn is not safe beside threads.
_DIE_WITH_PARENT = """
import ctypes, os, sys
PR_SET_PDEATHSIG, SIGTERM = 1, 15
if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, SIGTERM) != 0:
    sys.exit(f"prctl(PR_SET_PDEATHSIG) failed: {os.strerror(ctypes.get_errno())}")
if os.getppid() != int(sys.argv[1]):
    sys.exit("the starting process is gone")
os.execv(sys.argv[2], sys.argv[2:])
"""


def tied_to_us(*command: str) -> list[str]:
    """Return `command` (an absolute path and arguments) as one that gets SIGTERM when we die."""
    wrapper = [sys.executable, "-I", "-S", "-c", _DIE_WITH_PARENT, str(os.getpid())]
    return [*wrapper, *command]
