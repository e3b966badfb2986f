"""The header of a .npy file, checked without NumPy and without evaluating anything.

After the format's description in NumPy's `numpy.lib.format`. Object arrays, which hold pickles, are
refused; so is a file that is longer or shorter than its header says.
"""

import ast
import math
import re

MAGIC = b"\x93NUMPY"
MAX_HEADER_BYTES = 4096
MAX_RANK = 32
_DTYPE = re.compile(r"[<>|=]?(?:[biufc](\d{1,2})|b1|\?)")


class NotNpy(ValueError):
    """The bytes are no .npy file that is taken here; the message says why."""


def check_npy(data: bytes) -> None:
    """Raise NotNpy unless `data` is one whole .npy file of plain numbers."""
    if data[:6] != MAGIC or len(data) < 12:
        raise NotNpy("it does not begin like a .npy file")
    major = data[6]
    if major not in {1, 2, 3}:
        raise NotNpy(f"its format version is {major}; there are 1, 2 and 3")
    start = 10 if major == 1 else 12
    length = int.from_bytes(data[8:start], "little")
    if length > MAX_HEADER_BYTES or start + length > len(data):
        raise NotNpy("its header is cut off or too long")
    shape, item_bytes = _read_header(data[start : start + length])
    expected = math.prod(shape) * item_bytes
    actual = len(data) - start - length
    if expected != actual:
        raise NotNpy(f"shape {list(shape)} takes {expected} bytes, and {actual} are there")


def _read_header(header: bytes) -> tuple[tuple[int, ...], int]:
    try:
        fields = ast.literal_eval(header.decode("utf-8").strip())
        descr, shape = fields["descr"], fields["shape"]
    except (ValueError, SyntaxError, KeyError, TypeError, MemoryError, RecursionError):
        raise NotNpy("its header cannot be read") from None
    found = _DTYPE.fullmatch(descr) if isinstance(descr, str) else None
    if found is None:
        raise NotNpy(f"its elements are {str(descr)[:40]!r}; only plain numbers are taken")
    is_shape = isinstance(shape, tuple) and len(shape) <= MAX_RANK
    if not is_shape or not all(type(n) is int and 0 <= n < 2**48 for n in shape):
        raise NotNpy("its shape is none")
    return shape, int(found[1] or 1)
