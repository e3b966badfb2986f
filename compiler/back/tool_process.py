"""Runs ptxas and the other programs of a toolchain with input and output in memory, never in files.

Also keeps LLVM from opening files while it reads what a user wrote: inline assembly may hold
directives (`.incbin`, `.include`) that copy a file into the code, and who has no descriptor left
opens none, however such a directive is spelled.
"""

import errno
import os
import resource
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

_MAX_DESCRIPTORS = 1024


@contextmanager
def exhaust_descriptors() -> Iterator[None]:
    """Take every descriptor that this process may still have, so that nothing can be opened."""
    most, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most > _MAX_DESCRIPTORS:  # not in a child of a worker, which may not change it either
        resource.setrlimit(resource.RLIMIT_NOFILE, (_MAX_DESCRIPTORS, hard))
    taken: list[int] = []
    try:
        while len(taken) < _MAX_DESCRIPTORS:
            taken.append(os.dup(2))
    except OSError as error:
        if error.errno != errno.EMFILE:
            raise
    try:
        yield
    finally:
        for descriptor in taken:
            os.close(descriptor)
        if most > _MAX_DESCRIPTORS:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


NOTHING: Mapping[str, str] = MappingProxyType({})


@contextmanager
def memory(name: str, data: bytes = b"") -> Iterator[int]:
    """Yield the descriptor of a memory file that holds `data`; programs open it by `path_of`."""
    descriptor = os.memfd_create(name, 0)  # inheritable: the program opens it by number
    try:
        write_all(descriptor, data)
        yield descriptor
    finally:
        os.close(descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    """Write `data`, all of it."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


@contextmanager
def stderr_in_memory() -> Iterator[int]:
    """Yield the descriptor of a memory file that captures standard error."""
    original = os.dup(2)
    try:
        with memory("stderr") as descriptor:
            os.dup2(descriptor, 2)
            try:
                yield descriptor
            finally:
                os.dup2(original, 2)
    finally:
        os.close(original)


def path_of(descriptor: int) -> str:
    """Return the path by which a program that inherits `descriptor` opens it."""
    return f"/proc/self/fd/{descriptor}"


def content_of(descriptor: int, most_bytes: int = sys.maxsize) -> bytes:
    """Return the content of a memory file: its first `most_bytes`."""
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, min(size, most_bytes), 0)


def run(command: list[str], outputs: dict[int, int]) -> int:
    """Run `command` with an empty environment; return its status, or minus its signal.

    `outputs` lists which of our descriptors become its 1 and 2.
    """
    return end_of(start(command, outputs))


def start(
    command: list[str], outputs: dict[int, int], environment: Mapping[str, str] = NOTHING
) -> int:
    """Start `command` as `run` does, and return its process id, which `end_of` must be given."""
    actions = [(os.POSIX_SPAWN_DUP2, ours, its) for its, ours in outputs.items()]
    return os.posix_spawn(command[0], command, environment, file_actions=actions)


def end_of(process: int) -> int:
    """Wait for a program; return its status, or minus its signal."""
    _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status)
