"""The task that maps the lines of all artifacts back to the user's source."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from compiler.lines.table import table
from compiler.making import parts

Send = Callable[[dict[str, Any], bytes], None]


def lines(header: dict[str, Any], body: bytes, send: Send) -> dict[str, Any]:
    """Send the line table, as JSON, of the artifacts in `body`; `header` has their `sizes`."""
    given = parts.split(body, header["sizes"])
    texts = {stage: data.decode(errors="replace") for stage, data in given.items()}
    answer = {"lines": table(texts)}
    data = json.dumps(answer, separators=(",", ":")).encode()
    send({"kind": "stage", "stage": "lines", "ms": 0.0}, data)
    return {}
