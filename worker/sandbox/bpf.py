"""Filters of system calls as classic BPF, written by hand so that no C library is needed.

See Documentation/userspace-api/seccomp_filter.rst. `profile.py` defines what is permitted.
"""

import ctypes
import struct
from collections.abc import Iterable, Sequence

from worker.sandbox.libc import syscall
from worker.sandbox.syscalls import Machine

Instruction = tuple[int, int, int, int]
"""Code, how far to jump if true, if false, operand."""

LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALL_THREADS = 1
"""A flag of `install`: the filter holds for the threads that are there already, too."""
_NR, _ARCH, _FIRST_ARGUMENT = 0, 4, 16  # offsets into struct seccomp_data
_KILL, _ALLOW, _ERRNO = 0x80000000, 0x7FFF0000, 0x00050000
_X32_BIT = 0x40000000
_SET_MODE_FILTER = 1
_INSTRUCTION = struct.Struct("=HBBI")

PERMIT: Instruction = (RETURN, 0, 0, _ALLOW)


def refuse(code: int) -> Instruction:
    """Return the instruction that refuses the call with this errno."""
    return (RETURN, 0, 0, _ERRNO | code)


def argument(index: int, *, high: bool = False) -> Instruction:
    """Return the instruction that loads the low, or the high, word of a call's argument."""
    return (LOAD, 0, 0, _FIRST_ARGUMENT + 8 * index + (4 if high else 0))


def program_of(
    target: Machine,
    bodies: Iterable[tuple[int | None, Sequence[Instruction]]],
    otherwise: Instruction,
) -> list[Instruction]:
    """Return a program that judges each call, by number, with its body, and all others alike.

    A call of another processor's table ends the process. A body without a number is left out.
    """
    program: list[Instruction] = [
        (LOAD, 0, 0, _ARCH),
        (EQUAL, 1, 0, target.audit_arch),
        (RETURN, 0, 0, _KILL),
        (LOAD, 0, 0, _NR),
    ]
    if target.has_x32:
        program += [(AT_LEAST, 0, 1, _X32_BIT), (RETURN, 0, 0, _KILL)]
    for number, body in bodies:
        if number is not None:
            program += [(EQUAL, 0, len(body), number), *body]
    return [*program, otherwise]


def assemble(program: Iterable[Instruction]) -> bytes:
    """Return the program as the kernel reads it."""
    return b"".join(_INSTRUCTION.pack(*step) for step in program)


def operand_offset(index: int) -> int:
    """Return where the operand of the instruction at `index` lies in an assembled program."""
    return index * _INSTRUCTION.size + 4


def install(program: bytes, target: Machine, flags: int = 0) -> None:
    """Install an assembled program, irrevocably. NO_NEW_PRIVS must be set. Raises OSError."""
    instructions = ctypes.create_string_buffer(program, len(program))
    count = len(program) // _INSTRUCTION.size
    header = ctypes.create_string_buffer(struct.pack("@HP", count, ctypes.addressof(instructions)))
    number = target.number("seccomp")
    assert number is not None
    syscall(number, _SET_MODE_FILTER, flags, header)
