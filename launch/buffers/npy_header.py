"""Parses the header of a .npy file without NumPy and without executing anything.

Follows the description of the format in `numpy.lib.format`. Rejects object arrays, which hold
pickles, and files whose length differs from the header.
"""

import ast
import math
import re
import warnings
from dataclasses import dataclass
from typing import Any

MAGIC = b"\x93NUMPY"
MAX_HEADER_BYTES = 4096
MAX_START_BYTES = 12 + MAX_HEADER_BYTES
"""The longest prefix before the elements."""
MAX_RANK = 32
_VERSIONS = {(1, 0): 10, (2, 0): 12}
"""Offsets of the header by version. Version 3 only adds field names, which numbers lack."""
_DTYPE = re.compile(r"[<>|=](?:b1|[iu][1248]|f[248])")
_FIELDS = {"descr", "fortran_order", "shape"}


class NotNpy(ValueError):
    """The bytes are not an acceptable .npy file; the message explains why."""


@dataclass(frozen=True)
class NpyHeader:
    """The elements that a .npy header describes; they begin at byte `start`."""

    descr: str
    """NumPy's name of the dtype, beginning with its byte order."""
    fortran_order: bool
    shape: tuple[int, ...]
    start: int

    @property
    def size_bytes(self) -> int:
        """The size of all elements."""
        return math.prod(self.shape) * int(self.descr[2:])


def read_npy_header(data: bytes, size_bytes: int | None = None) -> NpyHeader:
    """Return the header of a .npy file of booleans, integers or floats. Raises NotNpy.

    `data` is the file, or at least its first `MAX_START_BYTES` if `size_bytes` gives its length.
    """
    if data[:6] != MAGIC or len(data) < 12:
        raise NotNpy("it does not begin with the magic bytes of a .npy file")
    start = _VERSIONS.get((data[6], data[7]))
    if start is None:
        raise NotNpy(f"its format version is {data[6]}.{data[7]}; write 1.0 or 2.0")
    length = int.from_bytes(data[8:start], "little")
    if length > MAX_HEADER_BYTES or start + length > len(data):
        raise NotNpy("its header is cut off or too long")
    header = _read_fields(data[start : start + length], start + length)
    actual = (len(data) if size_bytes is None else size_bytes) - header.start
    if header.size_bytes != actual:
        message = f"shape {list(header.shape)} takes {header.size_bytes} bytes"
        raise NotNpy(f"{message}, but the file holds {actual}")
    return header


def _read_fields(text: bytes, start: int) -> NpyHeader:
    fields = _literal(text)
    if not isinstance(fields, dict) or fields.keys() != _FIELDS:
        raise NotNpy(f"its header must be a dictionary of {', '.join(sorted(_FIELDS))}")
    descr, shape = fields["descr"], fields["shape"]
    if not isinstance(descr, str) or not _DTYPE.fullmatch(descr):
        message = f"its dtype is {str(descr)[:40]!r}; use booleans, or integers or floats of at"
        raise NotNpy(f"{message} most 64 bits")
    if type(fields["fortran_order"]) is not bool:
        raise NotNpy("its `fortran_order` must be True or False")
    is_shape = isinstance(shape, tuple) and len(shape) <= MAX_RANK
    if not is_shape or not all(type(n) is int and 0 <= n < 2**48 for n in shape):
        raise NotNpy(f"its shape must be a tuple of at most {MAX_RANK} extents from 0 to 2^48")
    return NpyHeader(descr, fields["fortran_order"], shape, start)


def _literal(text: bytes) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # untrusted text must not fill the log
            return ast.literal_eval(text.decode("latin-1"))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise NotNpy("its header is not a valid Python literal") from None
