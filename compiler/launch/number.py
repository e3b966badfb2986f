"""Numbers in answers are finite: the rest is written as strings that every JSON reader keeps."""

import math
from typing import Annotated, Any

from pydantic import BeforeValidator

LARGEST_EXACT = 2**53


def answered(value: Any) -> Any:
    """Return a number as answers show it: NaN and infinities by name, large integers as text."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) > LARGEST_EXACT:
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, list):
        return [answered(item) for item in value]
    return value


Number = Annotated[bool | int | float | str, BeforeValidator(answered)]
"""A number of any size; whoever builds an answer need not think of the rule."""

Values = Annotated[list[Any] | bool | int | float | str, BeforeValidator(answered)]
"""Nested lists of numbers, or one number of a buffer without dimensions."""
