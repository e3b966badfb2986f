"""The keys of the cache: SHA-256 over labelled, length-prefixed parts.

A wrong key silently hands somebody another kernel: whoever adds an input to a compilation adds it
here, raises KEY_VERSION, and writes the must-differ test beside the others.
"""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

KEY_VERSION = 1


def compile_key(parts: Iterable[tuple[str, Any]]) -> str:
    """Return the L1 key of a compilation: the id of the resource and of the job."""
    return _digest("compilation", parts)


def front_key(parts: Iterable[tuple[str, Any]]) -> str:
    """Return the L2 key: the slice and all else that the front end is given."""
    return _digest("front", parts)


def back_key(parts: Iterable[tuple[str, Any]]) -> str:
    """Return the L3 key: what the back end is given, however the TTIR came to be."""
    return _digest("back", parts)


def inspection_key(parts: Iterable[tuple[str, Any]]) -> str:
    """Return the key of an inspection: the id of its job."""
    return _digest("inspection", parts)


def derivation_key(parts: Iterable[tuple[str, Any]]) -> str:
    """Return the key of what is derived from a compilation: the id of its job."""
    return _digest("derivation", parts)


def _digest(level: str, parts: Iterable[tuple[str, Any]]) -> str:
    digest = hashlib.sha256()
    for label, part in [("version", KEY_VERSION), ("level", level), *parts]:
        kind, data = ("raw", part) if isinstance(part, bytes) else ("json", _canonical_json(part))
        # lengths keep neighbours apart: ("ab", "c") and ("a", "bc") differ
        digest.update(f"{len(label)}:{label}:{kind}:{len(data)}:".encode())
        digest.update(data)
    return digest.hexdigest()


def _canonical_json(part: Any) -> bytes:
    # surrogatepass: a lone surrogate in a source must have a key, not raise
    text = json.dumps(part, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")
