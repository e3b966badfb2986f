"""The task that disassembles a cubin, every instruction under the source lines it stems from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.making import tool, toolchain
from compiler.making.failure import Failure

Send = Callable[[dict[str, Any], bytes], None]


def sass(header: dict[str, Any], body: bytes, send: Send) -> dict[str, Any]:
    """Send the SASS of the cubin `body`, as nvdisasm writes it with inlined source lines.

    Raises `Failure`.
    """
    del header
    with (
        tool.memory("cubin", body) as cubin,
        tool.memory("sass") as text,
        tool.memory("log") as log,
    ):
        # -c: code sections only; -gi: a comment for each source line, inlined ones with their chain
        command = [toolchain.nvdisasm_path(), "-c", "-gi", tool.path_of(cubin)]
        status = tool.run(command, {1: text, 2: log})
        if status != 0:
            words = tool.content_of(log).decode(errors="replace").strip()[:500]
            message = f"nvdisasm ended with status {status}: {words}"
            raise Failure("assembler_failed", "cubin", message)
        send({"kind": "stage", "stage": "sass", "ms": 0.0}, tool.content_of(text))
    return {}
