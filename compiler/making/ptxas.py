"""Assembles PTX by running ptxas ourselves, without a file: all it reads and writes is memory."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from compiler import ptxas_log
from compiler.excerpt import diagnostic
from compiler.making import tool, toolchain
from compiler.making.failure import Failure


@dataclass(frozen=True)
class Assembled:
    """A cubin and what `ptxas -v` said of its registers and memory."""

    cubin: bytes
    resources: dict[str, int]


def assemble(ptx: str, make_cubin: Callable[..., Any], sources: dict[str, str]) -> Assembled:
    """Assemble `ptx` with the arguments of Triton's own `make_cubin`.

    Raises `Failure` with the slug of `ptxas_log.slug_of`, pointing at the line of PTX and at the
    user's line of `sources` (texts by the path that `.file` names).
    """
    with (
        tool.memory("ptx", ptx.encode()) as text,
        tool.memory("cubin") as cubin,
        tool.memory("log") as log,
    ):
        command = toolchain.ptxas_command(make_cubin, tool.path_of(text), tool.path_of(cubin))
        status = tool.run(command, {1: log, 2: log})
        words = tool.content_of(log).decode(errors="replace")
        if status != 0:
            raise _failure(status, words, ptx, sources)
        return Assembled(tool.content_of(cubin), ptxas_log.resources(words))


def _failure(status: int, words: str, ptx: str, sources: dict[str, str]) -> Failure:
    diagnostics = ptxas_log.diagnostics(words, ptx, sources)
    if status < 0:
        message = f"ptxas died of {signal.Signals(-status).name}"
    elif diagnostics:
        message = f"ptxas: {diagnostics[0]['message']}"
    else:
        message = f"ptxas ended with status {status}: {words.strip()[:500]}"
    found = diagnostics or [diagnostic("error", "cubin", message)]
    return Failure(ptxas_log.slug_of(status, words), "cubin", message, found)
