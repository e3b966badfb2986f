"""Runs one of the toolchain's programs over memory: what it reads and writes are no files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

NOTHING: Mapping[str, str] = MappingProxyType({})


@contextmanager
def memory(name: str, data: bytes = b"") -> Iterator[int]:
    """Yield the descriptor of a memory file that holds `data`; programs open it by `path_of`."""
    descriptor = os.memfd_create(name, 0)  # inheritable: the program opens it by number
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        yield descriptor
    finally:
        os.close(descriptor)


def path_of(descriptor: int) -> str:
    """Return the path by which a program that inherits `descriptor` opens it."""
    return f"/proc/self/fd/{descriptor}"


def content_of(descriptor: int) -> bytes:
    """Return all that was written to a memory file, by whomever."""
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, size, 0)


def run(command: list[str], outputs: dict[int, int]) -> int:
    """Run `command` with an empty environment; return its status, or minus its signal.

    `outputs` says which of our descriptors become its 1 and 2.
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
