"""The task that reads what a compiler wrote to standard error before it failed.

That text may be whatever hostile code wrote, so it is read here and not beside the store.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler import inline_assembly, mlir_log
from compiler.excerpt import KERNEL_FOLDER

Send = Callable[[dict[str, Any], bytes], None]


def log(header: dict[str, Any], body: bytes, send: Send) -> dict[str, Any]:
    """Return the `diagnostics` that `body` holds; `header` has the `stage` and `files`, texts.

    It may have the `ir` (TTGIR) that was being lowered, which tells where inline assembly stands.
    """
    del send
    sources = {KERNEL_FOLDER + path: text for path, text in header["files"].items()}
    said = body.decode(errors="replace")
    found = mlir_log.diagnostics(said, sources, header["stage"])
    return {"diagnostics": inline_assembly.located(found, header.get("ir") or "", sources)}
