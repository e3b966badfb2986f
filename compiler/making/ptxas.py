"""Assembles PTX by running ptxas ourselves, without a file: all it reads and writes is memory."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from compiler import ptxas_log
from compiler.making import toolchain
from compiler.making.failure import Failure


@dataclass(frozen=True)
class Assembled:
    """A cubin and what `ptxas -v` said of its registers and memory."""

    cubin: bytes
    resources: dict[str, int]


def assemble(ptx: str, make_cubin: Callable[..., Any], sources: dict[str, str]) -> Assembled:
    """Assemble `ptx` with the arguments of Triton's own `make_cubin`.

    Raises `Failure` with slug `assembler_failed`, pointing at the line of PTX and at the user's
    line of `sources` (texts by the path that `.file` names).
    """
    text, cubin, log = (_memory(name) for name in ("ptx", "cubin", "log"))
    try:
        _write(text, ptx.encode())
        command = toolchain.ptxas_command(make_cubin, _path(text), _path(cubin))
        status = _run(command, log)
        words = _read(log).decode(errors="replace")
        if status != 0:
            raise _failure(status, words, ptx, sources)
        return Assembled(_read(cubin), ptxas_log.resources(words))
    finally:
        for descriptor in (text, cubin, log):
            os.close(descriptor)


def _memory(name: str) -> int:
    return os.memfd_create(name, 0)  # inheritable: ptxas opens it by number


def _path(descriptor: int) -> str:
    return f"/proc/self/fd/{descriptor}"


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _read(descriptor: int) -> bytes:
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, size, 0)


def _run(command: list[str], log: int) -> int:
    """Run ptxas with an empty environment, its words into `log`; return status or -signal."""
    outputs = [(os.POSIX_SPAWN_DUP2, log, descriptor) for descriptor in (1, 2)]
    child = os.posix_spawn(command[0], command, {}, file_actions=outputs)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def _failure(status: int, words: str, ptx: str, sources: dict[str, str]) -> Failure:
    diagnostics = ptxas_log.diagnostics(words, ptx, sources)
    if status < 0:
        message = f"ptxas died of {signal.Signals(-status).name}"
    elif diagnostics:
        message = f"ptxas: {diagnostics[0]['message']}"
    else:
        message = f"ptxas ended with status {status}: {words.strip()[:500]}"
    return Failure("assembler_failed", "cubin", message, diagnostics)
