"""The task that maps the lines of all artifacts back to the user's source."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from compiler.lines.table import MAPS, mapped, table
from compiler.making import parts
from compiler.making.failure import Failure
from compiler.making.sass import NOT_DERIVABLE, disassembly

Send = Callable[[dict[str, Any], bytes], None]


def lines(header: dict[str, Any], body: bytes, send: Send) -> dict[str, Any]:
    """Send the line table, as JSON, of the artifacts in `body`; `header` has their `sizes`.

    Of a `cubin` without its `sass` that is made too, while the others are mapped, and sent as a
    stage of its own; where it cannot be made, the table does without. Raises `Failure`.
    """
    given = parts.split(body, header["sizes"])
    texts = {stage: given[stage].decode(errors="replace") for stage in given if stage in MAPS}
    if "cubin" in given:
        with disassembly(given) as finish:
            maps = mapped(texts)
            sass = _sass(finish)
        if sass is not None:
            send({"kind": "stage", "stage": "sass", "ms": 0.0}, sass.encode())
            maps |= mapped({"sass": sass})
    else:
        maps = mapped(texts)
    data = json.dumps({"lines": table(maps)}, separators=(",", ":")).encode()
    send({"kind": "stage", "stage": "lines", "ms": 0.0}, data)
    return {}


def _sass(finish: Callable[[], str]) -> str | None:
    try:
        return finish()
    except Failure as failure:
        if failure.slug == NOT_DERIVABLE:
            return None
        raise
