"""A short name for the initial contents of an allocation, from everything that determines them.

Equal names mean equal bytes, for any creator at any time, so contents can be cached by name. Names
do not identify the owner, so each caller has a separate cache.
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
    """Return the name of an allocation's initial contents; `layout` is the buffer that fills it.

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
