"""Disassembles a cubin, every instruction under the source lines it stems from.

Several texts or binaries in the one body that a task is given, by their sizes.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from compiler.back import tool_process, triton_api
from compiler.diagnostic import Failure
from compiler.lines.sass import with_source_lines


def split(body: bytes, sizes: Mapping[str, int]) -> dict[str, bytes]:
    """Return the parts of `body`, which follow each other in the order of `sizes`.

    Raises `ValueError` when the sizes are not those of the body.
    """
    if sum(sizes.values()) != len(body):
        message = f"parts of {sum(sizes.values())} bytes in a body of {len(body)} bytes"
        raise ValueError(message)
    parts, start = {}, 0
    for name, size in sizes.items():
        parts[name] = body[start : start + size]
        start += size
    return parts


NOT_DERIVABLE = "not_derivable"
CODE_ONLY, PTX_LINES, SOURCE_LINES = "-c", "-gp", "-gi"
NO_DATAFLOW = "-ndf"
"""Leaves out an analysis of branch stacks, which GPUs from Volta on do not have: a fifth faster."""

_TOO_OLD = re.compile(r"architecture \"(SM\d+\w*)\" is (?:deprecated|not supported)")
LARGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
"""nvdisasm builds 50 MB of tables at its start; in small pages that is 14,000 page faults."""


def sass(parts: Mapping[str, bytes]) -> str:
    """Return the SASS of a cubin, with comments for the lines of PTX and source.

    `parts` has the cubin, and the PTX where there is one. Raises `Failure`.
    """
    with disassembly(parts) as finish:
        return finish()


@contextmanager
def disassembly(parts: Mapping[str, bytes]) -> Iterator[Callable[[], str]]:
    """Start to disassemble `given["cubin"]`; the yielded function waits for the text.

    The lines of the source are found through `given["ptx"]`, where there is one. What is yielded
    must be called once, and raises `Failure`: `NOT_DERIVABLE` where nvdisasm has forgotten the GPU.
    """
    lines = PTX_LINES if "ptx" in parts else SOURCE_LINES
    with (
        tool_process.memory("cubin", parts["cubin"]) as cubin,
        tool_process.memory("sass") as text,
        tool_process.memory("log") as log,
    ):
        program = triton_api.nvdisasm_path()
        command = [program, NO_DATAFLOW, CODE_ONLY, lines, tool_process.path_of(cubin)]
        process = tool_process.start(command, {1: text, 2: log}, LARGE_PAGES)

        def finish() -> str:
            status = tool_process.end_of(process)
            if status != 0:
                raise _failure(
                    status, tool_process.content_of(log).decode(errors="replace").strip()[:500]
                )
            listing = tool_process.content_of(text).decode(errors="replace")
            return with_source_lines(listing, parts["ptx"].decode()) if "ptx" in parts else listing

        yield finish


def _failure(status: int, words: str) -> Failure:
    if too_old := _TOO_OLD.search(words):
        message = (
            f"This Triton's nvdisasm no longer disassembles {too_old[1]}: the cubin is there, "
            "for a disassembler of CUDA 12."
        )
        return Failure(NOT_DERIVABLE, "cubin", message)
    return Failure("assembler_failed", "cubin", f"nvdisasm ended with status {status}: {words}")
