"""The widths of integers: a test narrows them, so that they wrap at small sizes."""

POINTER_BITS = 64
WIDTHS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "index": 64}


def bits_of(element: str) -> int:
    """Return the bits of an integer type. Raises KeyError."""
    return WIDTHS[element]
