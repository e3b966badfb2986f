"""Bytes that a child maps instead of reading them from a pipe.

They are sealed: nobody can change them any more, neither a child nor whoever wrote them.
"""

import asyncio
import fcntl
import os
from collections.abc import Iterable
from types import TracebackType
from typing import Self

_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE


class SharedBytes:
    """An anonymous file in memory. Use it with `with`; children that map it keep it for their life.

    Raises OSError where the machine gives none.
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
            os.close(self.descriptor)
            raise

    @classmethod
    async def of(cls, parts: Iterable[bytes]) -> Self:
        """Return `parts` shared; the loop goes on while they are written. Raises OSError."""
        return await asyncio.to_thread(cls, parts)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        os.close(self.descriptor)

    def __len__(self) -> int:
        return self.size_bytes

    def _append(self, part: bytes) -> None:
        view = memoryview(part)
        self.size_bytes += len(view)
        while view:
            view = view[os.write(self.descriptor, view) :]


Body = bytes | SharedBytes
"""What comes with a job's header: by its pipe, or shared where it is large."""
