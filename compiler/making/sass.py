"""The task that disassembles a cubin, every instruction under the source lines it stems from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.lines.assembly import with_true_lines
from compiler.making import parts, ptxas, tool, toolchain
from compiler.making.elf import code_of
from compiler.making.failure import Failure

Send = Callable[[dict[str, Any], bytes], None]


def sass(header: dict[str, Any], body: bytes, send: Send) -> dict[str, Any]:
    """Send the SASS of a cubin, as nvdisasm writes it with inlined source lines.

    `header` has target, options and the `sizes` of the parts of `body`: cubin, and ptx where there
    is one. Raises `Failure`.
    """
    given = parts.split(body, header["sizes"])
    cubin = given["cubin"]
    if "ptx" in given:
        cubin = _with_true_lines(cubin, given["ptx"].decode(), header)
    send({"kind": "stage", "stage": "sass", "ms": 0.0}, _disassembled(cubin))
    return {}


def _with_true_lines(cubin: bytes, ptx: str, header: dict[str, Any]) -> bytes:
    """Return a cubin with the code of `cubin` and a line table that does not mislead.

    See `with_true_lines`. Where assembling again gives other code, it is `cubin` as it is.
    """
    corrected = with_true_lines(ptx)
    if corrected == ptx:
        return cubin
    backend = toolchain.make_backend(toolchain.target_of(header["target"]))
    options = backend.parse_options(header["options"])
    make_cubin = toolchain.stages_of(backend, options, gluon=False)["cubin"]
    try:
        again = ptxas.assemble(corrected, make_cubin, {}).cubin
        return again if code_of(again) == code_of(cubin) else cubin
    except (Failure, ValueError):
        return cubin  # it was assembled once, so this is no property of the kernel


def _disassembled(data: bytes) -> bytes:
    with (
        tool.memory("cubin", data) as cubin,
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
        return tool.content_of(text)
