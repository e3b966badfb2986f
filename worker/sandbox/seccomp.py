"""seccomp: a list of the system calls a child may make; every other one is refused or ends it.

The filter is built once; the only word that differs between children is their own process id.
"""

import errno
import fcntl
import platform
import signal
import struct
from collections.abc import Iterable
from dataclasses import dataclass

from worker.sandbox.bpf import (
    ANY_BIT,
    EQUAL,
    PERMIT,
    Instruction,
    argument,
    assemble,
    install,
    operand_offset,
    program_of,
    refuse,
)
from worker.sandbox.syscalls import MACHINES, Machine

_OWN_PID = 0xFFFFFFFF  # stands for the pid until the filter is installed
_NAMESPACE_FLAGS = (
    0x7E020080  # CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
)
_F_GETPIPE_SZ = 1032
_PLAIN_COMMANDS = (
    fcntl.F_DUPFD, fcntl.F_DUPFD_CLOEXEC, fcntl.F_GETFD, fcntl.F_SETFD, fcntl.F_GETFL,
    fcntl.F_SETFL, fcntl.F_GET_SEALS, _F_GETPIPE_SZ,
)  # fmt: skip
"""Commands of fcntl for a process's own descriptors. Others have the kernel send signals, of any
number, to any process (F_SETOWN, F_SETSIG), lock files or watch folders."""


class UnknownMachine(OSError):
    """The processor is neither x86_64 nor aarch64, so the call numbers are unknown."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A finished program, and the index of the one word that holds this process's id."""

    program: bytes
    own_pid_offset: int


def machine() -> Machine:
    """Return the table of this processor. Raises UnknownMachine."""
    name = platform.machine()
    if name not in MACHINES:
        raise UnknownMachine(
            errno.ENOSYS,
            f"no system call table for the processor {name!r}; supported: {', '.join(MACHINES)}",
        )
    return MACHINES[name]


def _answers(*, may_clone: bool) -> dict[str, list[Instruction]]:
    """Return calls that are checked by argument, or refused with an error that libraries expect."""
    answers = {
        "clone3": [refuse(errno.ENOSYS)],  # its flags are behind a pointer; glibc then uses clone
        "ioctl": [refuse(errno.ENOTTY)],  # isatty() and open() ask, and take no for an answer
        "tgkill": [  # abort() and faulthandler signal themselves, but none may feign a kill
            argument(0),
            (EQUAL, 0, 4, _OWN_PID),
            argument(2),
            (EQUAL, 2, 0, signal.SIGKILL),
            (EQUAL, 1, 0, signal.SIGSTOP),
            PERMIT,
            refuse(errno.EPERM),
        ],
        "prlimit64": [  # reading one's own limits: pid 0, no new value
            argument(0),
            (EQUAL, 0, 5, 0),
            argument(2),
            (EQUAL, 0, 3, 0),
            argument(2, high=True),
            (EQUAL, 0, 1, 0),
            PERMIT,
            refuse(errno.EPERM),
        ],
    }
    if may_clone:
        answers["clone"] = [
            argument(0),
            (ANY_BIT, 0, 1, _NAMESPACE_FLAGS),
            refuse(errno.EPERM),
            PERMIT,
        ]
    return answers


def _own_descriptors_only() -> list[Instruction]:
    """Return the body for fcntl: a command that is not plain is answered as an unknown one."""
    known = [
        (EQUAL, len(_PLAIN_COMMANDS) - at, 0, command) for at, command in enumerate(_PLAIN_COMMANDS)
    ]
    return [argument(1), *known, refuse(errno.EINVAL), PERMIT]


def build(allowed: Iterable[str], target: Machine, *, may_clone: bool) -> Filter:
    """Return the filter that permits `allowed` and the argument-checked calls, and nothing else."""
    checked = {"fcntl": _own_descriptors_only()}
    bodies = [(target.number(name), checked.get(name, [PERMIT])) for name in sorted(allowed)]
    bodies += [(target.number(name), body) for name, body in _answers(may_clone=may_clone).items()]
    program = program_of(target, bodies, refuse(errno.EPERM))
    own = next(i for i, step in enumerate(program) if step[0] == EQUAL and step[3] == _OWN_PID)
    return Filter(assemble(program), operand_offset(own))


def enter(chosen: Filter, own_pid: int) -> None:
    """Install the filter in this process, irrevocably. NO_NEW_PRIVS must be set. Raises OSError."""
    program = bytearray(chosen.program)
    struct.pack_into("=I", program, chosen.own_pid_offset, own_pid)
    install(bytes(program), machine())
