"""What the first contents of an allocation follow from, as one short name for them.

Equal names are equal bytes, whoever makes them and when, so what was made once can be kept under
its name. Names say nothing of whose contents they are: what is kept is kept for each caller apart.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from launch.buffers.allocation import Leaf

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def content_key(described: Mapping[str, Any], layout: Leaf | None) -> str | None:
    """Return the name of what an allocation starts with; `layout` is what it is filled through.

    None where nothing is to be kept: it is poisoned, or of an upload that is not named by its
    content.
    """
    init = described["init"]
    if init is None or (init["kind"] == "tensor" and not _is_named(init)):
        return None
    text = json.dumps(
        [
            *(init, described["dtype"], described["elements"]),
            None if layout is None else [layout.shape, layout.strides, layout.offset],
        ],
        sort_keys=True,
        separators=(",", ":"),
    )
    return hashlib.sha256(text.encode()).hexdigest()


def _is_named(init: Mapping[str, Any]) -> bool:
    return _DIGEST.fullmatch(str(init.get("digest"))) is not None
