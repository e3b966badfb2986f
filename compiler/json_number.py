"""Numbers as JSON writes them, for all of the project: NaN, infinities and integers beyond 2^53.

Answers hold finite numbers, the three names, and decimal strings for integers that not every reader
of JSON keeps exactly; requests and jobs may tag a number, `{"int": "7"}` or `{"float": "0x1p+1"}`.
Standard library only, and none of our modules, so that every process reads and writes them alike.
"""

import math
from collections.abc import Mapping
from typing import Any

MAX_EXACT = 2**53
"""The largest integer that every reader of JSON keeps exactly."""
NON_FINITE: Mapping[str, float] = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""The names of non-finite numbers, which JSON lacks, in answers and requests."""

Number = int | float | bool


def written_number(number: Any) -> Number | str:
    """Return a number, also NumPy's, as answers say it: `read_number` reads it back."""
    plain = number.item() if hasattr(number, "item") else number
    if isinstance(plain, int):
        return plain if abs(plain) <= MAX_EXACT else str(plain)
    if math.isnan(plain):
        return "NaN"
    if math.isinf(plain):
        return "Infinity" if plain > 0 else "-Infinity"
    return float(plain)


def read_number(raw: Any) -> Number:
    """Return the number in a JSON value, tagged or not. Raises ValueError for no number."""
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


def tagged_float(number: float) -> dict[str, str]:
    """Return the exact and only tagged form of a float: hexadecimal, `nan`, `inf` or `-inf`."""
    return {"float": number.hex() if math.isfinite(number) else str(number)}
