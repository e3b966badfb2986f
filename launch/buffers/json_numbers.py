"""Numbers between JSON and Python where JSON alone cannot say them: NaN, infinities, big integers.

In: numbers, "NaN", "Infinity", "-Infinity", decimal strings, `{"int": "7"}`, `{"float": "0x1p+1"}`.
Out: finite numbers, those three strings, and decimal strings beyond 2^53.
"""

from __future__ import annotations

import math
from typing import Any

LARGEST_EXACT = 2**53

Number = int | float | bool


def decode(raw: Any) -> Number:
    """Return the number that a JSON value means. Raises `ValueError` for anything else."""
    if isinstance(raw, (bool, int, float)):
        return raw
    if isinstance(raw, dict) and len(raw) == 1:
        ((tag, content),) = raw.items()
        if tag == "int":
            return int(content)
        if tag == "float":
            return float.fromhex(content) if isinstance(content, str) else float(content)
    if isinstance(raw, str):
        return _from_text(raw)
    message = f"{raw!r:.80} is not a number"
    raise ValueError(message)


def _from_text(text: str) -> Number:
    try:
        return int(text)
    except ValueError:
        return float(text)


def encode(value: Any) -> Any:
    """Return what JSON can say of a Python or NumPy number."""
    plain = value.item() if hasattr(value, "item") else value
    if isinstance(plain, bool):
        return plain
    if isinstance(plain, int):
        return plain if abs(plain) <= LARGEST_EXACT else str(plain)
    number = float(plain)
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return number
