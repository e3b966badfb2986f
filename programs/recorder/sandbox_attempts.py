"""Notices what a program tries to reach outside of its sandbox while it is recorded.

The sandbox refuses all of it; a program that catches the refusal goes on. The code runs in the same
process as the program, which may hide an attempt: this is a sign, no protection.
"""

import os
import sys
from types import FrameType
from typing import Any

from compiler.diagnostic import KERNEL_FOLDER
from programs.recorder.record_order import MOST_ATTEMPTS, SandboxAttempt
from programs.recorder.recording import Recording, current
from programs.recorder.refusals import UserLine

_OUTSIDE = frozenset(
    {"ctypes.dlopen", "os.exec", "os.fork", "os.forkpty", "os.kill", "os.killpg", "os.posix_spawn",
     "os.spawn", "os.system", "pty.spawn", "resource.prlimit", "signal.pthread_kill",
     "socket.__new__", "socket.bind", "socket.connect", "socket.getaddrinfo",
     "socket.gethostbyname", "subprocess.Popen"}
)  # fmt: skip
_PATHS = frozenset(
    {"open", "os.chdir", "os.chmod", "os.chown", "os.link", "os.listdir", "os.mkdir", "os.remove",
     "os.rename", "os.rmdir", "os.scandir", "os.symlink", "os.truncate", "os.utime"}
)  # fmt: skip
"""Events whose first argument is a path. One in the program's own folder may be tried."""
_OF_THEIR_OWN = frozenset(
    {"importlib", "inspect", "linecache", "pkgutil", "platform", "tokenize", "traceback",
     "warnings"}
)  # fmt: skip
"""Modules that look at files without being asked for one."""
_LOADERS = ("numpy", "torch.serialization")
"""Libraries that open the path that a program names."""
_STANDARD_STREAMS = 3
_LONGEST_PATH = 100


def install() -> None:
    """Notice attempts in this process from now on, for good."""
    sys.addaudithook(_notice)


def _notice(event: str, arguments: tuple[Any, ...]) -> None:
    if event not in _OUTSIDE and event not in _PATHS:
        return
    recording = current()
    if recording is None or len(recording.attempts) >= MOST_ATTEMPTS:
        return
    shown = ""
    if event in _PATHS:
        path = arguments[0] if arguments else None
        if not _is_outside(path):
            return
        shown = f" of {_shown(path)}"
    place = _asking_line(recording)
    if place is not None:
        file, line = place
        attempt = SandboxAttempt(what=f"{event}{shown}", file=file, line=line)
        if attempt not in recording.attempts:
            recording.attempts.append(attempt)


def _is_outside(path: Any) -> bool:
    """Return True for a descriptor that is not a standard stream, or a path outside."""
    if isinstance(path, int):
        return path >= _STANDARD_STREAMS
    if not isinstance(path, (str, bytes)):
        return False
    text = os.path.normpath(os.fsdecode(path))
    return text.startswith(("/", "..")) and not f"{text}/".startswith(KERNEL_FOLDER)


def _shown(path: Any) -> str:
    return ascii(path)[:_LONGEST_PATH]


def _asking_line(recording: Recording) -> UserLine | None:
    """Return the user's line that asked, itself or through the standard library or a loader."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        place = recording.lines.at(frame)
        if place is not None:
            return place
        module = str(frame.f_globals.get("__name__"))
        root = module.partition(".")[0]
        is_carrier = root in sys.stdlib_module_names or module.startswith(_LOADERS)
        if root in _OF_THEIR_OWN or not is_carrier:
            return None
        frame = frame.f_back
    return None
