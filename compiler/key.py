"""The keys of the cache: SHA-256 over labelled, length-prefixed parts.

A wrong key silently hands somebody another kernel: whoever adds an input to a compilation adds it
here, raises KEY_VERSION, and writes the must-differ test beside the others.
"""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import orjson

KEY_VERSION = 1
# made once: making it costs more than most parts take
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def compile_key(parts: Iterable[tuple[str, Any]]) -> str:
    """Return the L1 key of a compilation: the id of the resource and of the job."""
    return _digest("compilation", parts)


def front_key(parts: Iterable[tuple[str, Any]]) -> str:
    """Return the L2 key: the slice and all else that the front end is given."""
    return _digest("front", parts)


def opinion_key(parts: Iterable[tuple[str, Any]]) -> str:
    """Return the key of what executing a whole text says of its slice."""
    return _digest("opinion", parts)


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
    pieces = []
    for label, part in [("version", KEY_VERSION), ("level", level), *parts]:
        kind, data = ("raw", part) if isinstance(part, bytes) else ("json", _canonical_json(part))
        # lengths keep neighbours apart: ("ab", "c") and ("a", "bc") differ
        pieces += [f"{len(label)}:{label}:{kind}:{len(data)}:".encode(), data]
    return hashlib.sha256(b"".join(pieces)).hexdigest()


def _canonical_json(part: Any) -> bytes:
    if isinstance(part, str) or not _holds_float(part):
        # orjson writes the same bytes many times faster; but for floats, and what it refuses
        try:
            return orjson.dumps(part, option=orjson.OPT_SORT_KEYS)
        except TypeError:
            return _exact_json(part)
    return _exact_json(part)


def _exact_json(part: Any) -> bytes:
    # surrogatepass: a lone surrogate in a source must have a key, not raise
    return _ENCODER.encode(part).encode("utf-8", "surrogatepass")


def _holds_float(part: Any) -> bool:
    if isinstance(part, dict):
        part = part.values()
    elif not isinstance(part, list | tuple):
        return isinstance(part, float)
    return any(not isinstance(item, str) and _holds_float(item) for item in part)
