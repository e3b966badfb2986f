"""The content codings that a client accepts (RFC 9110, 12.5.3)."""

import re

_REFUSED = re.compile(r"\s*q\s*=\s*0(\.0*)?\s*", re.IGNORECASE)


def accepts(accept_encoding: str, coding: str) -> bool:
    """Return True if the client asks for `coding` by name; `zstd;q=0` refuses it."""
    for part in accept_encoding.split(","):
        name, _, weight = part.partition(";")
        if name.strip().lower() == coding:
            return not _REFUSED.fullmatch(weight)
    return False
