"""The task that writes a kernel down as a file of another language."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from compiler.export.c import c_header
from compiler.export.cuda_inline import cuda_inline_header
from compiler.export.kernel import Kernel, kernel_of
from compiler.export.python import python_module
from compiler.export.refusal import NotExportable
from compiler.export.rust import rust_module
from compiler.making.failure import Failure

Send = Callable[[dict[str, Any], bytes], None]

FORMATS: Mapping[str, Callable[[Kernel, bytes], str]] = {
    "c": c_header,
    "rust": rust_module,
    "python": python_module,
    "cuda-inline": lambda kernel, ptx: cuda_inline_header(kernel, ptx.decode()),
}


def export(header: dict[str, Any], body: bytes, send: Send) -> dict[str, Any]:
    """Send the export.

    `header` has the `format` and `facts`, the record; `body` is the artifact that the format holds.
    Raises `Failure` with slug `not_derivable`.
    """
    try:
        text = FORMATS[header["format"]](kernel_of(header["facts"]), body)
    except NotExportable as error:
        raise Failure("not_derivable", "export", str(error)) from error
    send({"kind": "stage", "stage": "export", "ms": 0.0}, text.encode())
    return {}
