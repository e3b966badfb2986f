"""seccomp: a list of the system calls a child may make; every other one is refused or ends it.

The filter is classic BPF, written here by hand (Documentation/userspace-api/seccomp_filter.rst), so
that no C library is needed. It is built once; the only word that differs between children is their
own process id.
"""

import ctypes
import errno
import platform
import signal
import struct
from collections.abc import Iterable
from dataclasses import dataclass

from worker.sandbox.libc import syscall
from worker.sandbox.syscalls import MACHINES, Machine

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NR, _ARCH = 0, 4  # offsets into struct seccomp_data
_KILL, _ALLOW, _ERRNO = 0x80000000, 0x7FFF0000, 0x00050000
_X32_BIT = 0x40000000
_SET_MODE_FILTER = 1
_OWN_PID = 0xFFFFFFFF  # stands for the pid until the filter is installed
_NAMESPACE_FLAGS = (
    0x7E020080  # CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
)

Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, operand


class UnknownMachine(OSError):
    """The processor is neither x86_64 nor aarch64: no call number here means what it says."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A finished program, and the place of its one word that is this process's own id."""

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


def _argument(index: int, *, high: bool = False) -> Instruction:
    return (_LOAD, 0, 0, 16 + 8 * index + (4 if high else 0))


def _refuse(code: int) -> Instruction:
    return (_RETURN, 0, 0, _ERRNO | code)


_PERMIT: Instruction = (_RETURN, 0, 0, _ALLOW)


def _answers(*, may_clone: bool) -> dict[str, list[Instruction]]:
    """Return the calls judged by their arguments, or refused with an error libraries expect."""
    answers = {
        "clone3": [_refuse(errno.ENOSYS)],  # its flags are behind a pointer; glibc then uses clone
        "ioctl": [_refuse(errno.ENOTTY)],  # isatty() and open() ask, and take no for an answer
        "tgkill": [  # abort() and faulthandler signal themselves, but none may feign a kill
            _argument(0),
            (_EQUAL, 0, 4, _OWN_PID),
            _argument(2),
            (_EQUAL, 2, 0, signal.SIGKILL),
            (_EQUAL, 1, 0, signal.SIGSTOP),
            _PERMIT,
            _refuse(errno.EPERM),
        ],
        "prlimit64": [  # reading one's own limits: pid 0, no new value
            _argument(0),
            (_EQUAL, 0, 5, 0),
            _argument(2),
            (_EQUAL, 0, 3, 0),
            _argument(2, high=True),
            (_EQUAL, 0, 1, 0),
            _PERMIT,
            _refuse(errno.EPERM),
        ],
    }
    if may_clone:
        answers["clone"] = [
            _argument(0),
            (_ANY_BIT, 0, 1, _NAMESPACE_FLAGS),
            _refuse(errno.EPERM),
            _PERMIT,
        ]
    return answers


def build(allowed: Iterable[str], target: Machine, *, may_clone: bool) -> Filter:
    """Return the filter that permits `allowed` and the argument-checked calls, and nothing else."""
    program: list[Instruction] = [
        (_LOAD, 0, 0, _ARCH),
        (_EQUAL, 1, 0, target.audit_arch),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NR),
    ]
    if target.has_x32:
        program += [(_AT_LEAST, 0, 1, _X32_BIT), (_RETURN, 0, 0, _KILL)]
    bodies = [(target.number(name), [_PERMIT]) for name in sorted(allowed)]
    bodies += [(target.number(name), body) for name, body in _answers(may_clone=may_clone).items()]
    for number, body in bodies:
        if number is not None:
            program += [(_EQUAL, 0, len(body), number), *body]
    program.append(_refuse(errno.EPERM))
    own = next(i for i, step in enumerate(program) if step[0] == _EQUAL and step[3] == _OWN_PID)
    packed = b"".join(struct.pack("=HBBI", *step) for step in program)
    return Filter(packed, own * 8 + 4)


def enter(chosen: Filter, own_pid: int) -> None:
    """Install the filter in this process, for good. NO_NEW_PRIVS must be set. Raises OSError."""
    program = ctypes.create_string_buffer(chosen.program, len(chosen.program))
    struct.pack_into("=I", program, chosen.own_pid_offset, own_pid)
    header = ctypes.create_string_buffer(
        struct.pack("@HP", len(chosen.program) // 8, ctypes.addressof(program))
    )
    number = machine().number("seccomp")
    assert number is not None
    syscall(number, _SET_MODE_FILTER, 0, header)
