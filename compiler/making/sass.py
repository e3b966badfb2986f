"""The task that disassembles a cubin, every instruction under the source lines it stems from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.lines.sass_comments import with_source_lines
from compiler.making import parts, tool, toolchain
from compiler.making.failure import Failure

Send = Callable[[dict[str, Any], bytes], None]

CODE_ONLY, PTX_LINES, SOURCE_LINES = "-c", "-gp", "-gi"


def sass(header: dict[str, Any], body: bytes, send: Send) -> dict[str, Any]:
    """Send the SASS of a cubin, with comments for the lines of PTX and source.

    `header` has the `sizes` of the parts of `body`: cubin, and ptx where there is one. Raises
    `Failure`.
    """
    given = parts.split(body, header["sizes"])
    if "ptx" in given:
        text = with_source_lines(_disassembled(given["cubin"], PTX_LINES), given["ptx"].decode())
    else:
        text = _disassembled(given["cubin"], SOURCE_LINES)
    send({"kind": "stage", "stage": "sass", "ms": 0.0}, text.encode())
    return {}


def _disassembled(data: bytes, lines: str) -> str:
    with (
        tool.memory("cubin", data) as cubin,
        tool.memory("sass") as text,
        tool.memory("log") as log,
    ):
        command = [toolchain.nvdisasm_path(), CODE_ONLY, lines, tool.path_of(cubin)]
        status = tool.run(command, {1: text, 2: log})
        if status != 0:
            words = tool.content_of(log).decode(errors="replace").strip()[:500]
            message = f"nvdisasm ended with status {status}: {words}"
            raise Failure("assembler_failed", "cubin", message)
        return tool.content_of(text).decode(errors="replace")
