"""Bytes that a child maps instead of reading them from a pipe.

They are sealed: neither a child nor their writer can change them.
"""

import asyncio
import fcntl
import os
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE


class NotSealed(Exception):
    """A descriptor that is not sealed memory of the announced size; the message explains why."""


class SharedBytes:
    """An anonymous file in memory, gone with its last user: children that map it are such.

    Raises OSError where the machine gives none. `with` closes it early.
    """

    def __init__(self, parts: Iterable[bytes]) -> None:
        """Write `parts`, one behind the other, and seal them."""
        flags = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
        self.descriptor = os.memfd_create("tritond-shared", flags)
        self.size_bytes = 0
        try:
            for part in parts:
                self._append(part)
            fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, _SEALS)
        except BaseException:
            self.close()
            raise

    @classmethod
    async def of(cls, parts: Iterable[bytes]) -> Self:
        """Return `parts` shared; the loop goes on while they are written. Raises OSError."""
        return await asyncio.to_thread(cls, parts)

    @classmethod
    def received(cls, descriptor: int, size_bytes: int) -> Self:
        """Take the memory behind a received descriptor.

        Raises NotSealed and closes it, unless it has exactly this size and is immutable.
        """
        shared = cls.__new__(cls)
        shared.descriptor, shared.size_bytes = descriptor, size_bytes
        try:
            _check(descriptor, size_bytes)
        except NotSealed:
            shared.close()
            raise
        return shared

    def close(self) -> None:
        """Close the descriptor; mappings stay valid."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self) -> None:
        if getattr(self, "descriptor", -1) >= 0:
            self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return self.size_bytes

    def __bytes__(self) -> bytes:
        """Return a copy."""
        parts, offset = [], 0
        while offset < self.size_bytes:
            part = os.pread(self.descriptor, self.size_bytes - offset, offset)
            parts.append(part)
            offset += len(part)
        return b"".join(parts)

    def _append(self, part: bytes) -> None:
        view = memoryview(part)
        self.size_bytes += len(view)
        while view:
            view = view[os.write(self.descriptor, view) :]


Body = bytes | SharedBytes
"""The body of a job: sent through the pipe, or shared if it is large."""

MAX_PARTS = 16


@dataclass(frozen=True, slots=True)
class SharedParts:
    """A body in several pieces of memory, `MAX_PARTS` at most: one behind the other, uncopied."""

    parts: tuple[SharedBytes, ...]

    def __len__(self) -> int:
        return sum(map(len, self.parts))


def _check(descriptor: int, size_bytes: int) -> None:
    try:
        seals = fcntl.fcntl(descriptor, fcntl.F_GET_SEALS)
    except OSError:
        raise NotSealed("a descriptor that is not memory that can be sealed") from None
    if seals & _SEALS != _SEALS:
        raise NotSealed("shared memory that can still be changed")
    size = os.fstat(descriptor).st_size
    if size != size_bytes:
        raise NotSealed(f"shared memory of {size} bytes, not the {size_bytes} announced")
