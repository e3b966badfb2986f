"""The digest behind every key: over labelled parts that cannot run into each other.

`key` defines the parts of each key.
"""

import hashlib
import json
import logging
from typing import Any

import orjson

KEY_VERSION = 3
# made once: making it costs more than most parts take
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)

Parts = list[tuple[str, Any]]
"""The inputs of a key, by label."""
_SHOWN_DIGITS = 12
logger = logging.getLogger(__name__)


def labelled_digest(level: str, parts: Parts) -> str:
    """Return the SHA-256 of labelled parts, each with its length; bytes and JSON are distinct."""
    pieces = []
    for label, part in [("version", KEY_VERSION), ("level", level), *parts]:
        kind, data = ("raw", part) if isinstance(part, bytes) else ("json", _canonical_json(part))
        # lengths keep neighbours apart: ("ab", "c") and ("a", "bc") differ
        pieces += [f"{len(label)}:{label}:{kind}:{len(data)}:".encode(), data]
    key = hashlib.sha256(b"".join(pieces)).hexdigest()
    if logger.isEnabledFor(logging.DEBUG):
        _log_parts(level, key, pieces[4:])
    return key


def _log_parts(level: str, key: str, pieces: list[bytes]) -> None:
    """Log the digest of each part, so that two logs show which part made two keys differ.

    Never the parts: they hold the caller's source.
    """
    heads, parts = pieces[::2], pieces[1::2]
    digests = [
        f"{head.split(b':')[1].decode()}={hashlib.sha256(part).hexdigest()[:_SHOWN_DIGITS]}"
        for head, part in zip(heads, parts, strict=True)
    ]
    logger.debug("key %s of a %s: %s", key, level, " ".join(digests))


def _canonical_json(part: Any) -> bytes:
    if isinstance(part, str) or not _has_float(part):
        # orjson gives identical bytes faster, except for floats and types it refuses
        try:
            return orjson.dumps(part, option=orjson.OPT_SORT_KEYS)
        except TypeError:
            return _exact_json(part)
    return _exact_json(part)


def _exact_json(part: Any) -> bytes:
    # surrogatepass: a lone surrogate in a source must have a key, not raise
    return _ENCODER.encode(part).encode("utf-8", "surrogatepass")


_NO_FLOATS = frozenset({str, int, bool, type(None)})
"""Types that a look settles; every key looks at all its parts."""


def _has_float(part: Any) -> bool:
    if isinstance(part, dict):
        part = part.values()
    elif not isinstance(part, list | tuple):
        return isinstance(part, float)
    return any(type(item) not in _NO_FLOATS and _has_float(item) for item in part)
