"""The key of an allocation's initial contents, a digest of everything that determines them.

Equal keys mean equal bytes in any process at any time, so contents can be cached by key. Keys do
not identify the owner, so each caller has a separate cache.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from launch.buffers.allocation import Leaf

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def content_key(described: Mapping[str, Any], layout: Leaf | None) -> str | None:
    """Return the key of an allocation's initial contents; `layout` is the buffer that fills it.

    Returns None for contents that must not be cached: poison, and uploads without a digest.
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
