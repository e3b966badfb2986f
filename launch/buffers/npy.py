"""Reads and writes `.npy` bytes of plain numbers: no pickle, no objects, no structures.

A file may come from anybody: its header is believed only after it was checked against its length.
"""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
from numpy.lib import format as numpy_format

from launch.buffers.element_types import Array, stored

LONGEST_HEADER_BYTES = 4096
MOST_DIMENSIONS = 32
_KINDS = "biuf"
npy: Any = numpy_format  # its type stubs lack annotations
_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


class NotNpy(ValueError):
    """The bytes are no `.npy` file of numbers; the message says why."""


def read(data: bytes) -> Array:
    """Return the array that `data` holds. Raises `NotNpy`."""
    stream = io.BytesIO(data)
    shape, fortran_order, dtype = _header(stream)
    if dtype.hasobject or dtype.kind not in _KINDS:
        message = f"a .npy file of {dtype} cannot be a tensor: only booleans, integers and floats"
        raise NotNpy(message)
    if len(shape) > MOST_DIMENSIONS or any(extent < 0 for extent in shape):
        message = f"a .npy file has an impossible shape: {shape}"
        raise NotNpy(message)
    expected = math.prod(shape) * dtype.itemsize
    held = len(data) - stream.tell()
    if held != expected:
        message = (
            f"a .npy file of shape {shape} and {dtype} needs {expected} bytes of data, not {held}"
        )
        raise NotNpy(message)
    flat = np.frombuffer(data, dtype, offset=stream.tell()) if held else np.empty(0, dtype)
    order: Any = "F" if fortran_order else "C"
    return flat.astype(dtype.newbyteorder("="), copy=False).reshape(shape, order=order)


def _header(stream: io.BytesIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    try:
        version = npy.read_magic(stream)
        if version not in _READERS:
            message = f"version {version} of .npy is not read; write 1.0 or 2.0"
            raise NotNpy(message)
        shape, fortran_order, dtype = _READERS[version](
            stream, max_header_size=LONGEST_HEADER_BYTES
        )
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        message = f"this is no .npy file: {error}"
        raise NotNpy(message) from error
    return shape, fortran_order, dtype


def write(elements: Array) -> bytes:
    """Return `elements` as a `.npy` file; types that NumPy lacks (bf16, fp8) as unsigned bits."""
    stream = io.BytesIO()
    bits = elements if elements.dtype.isbuiltin == 1 else elements.view(f"u{elements.itemsize}")
    npy.write_array(stream, np.ascontiguousarray(bits), version=(1, 0), allow_pickle=False)
    return stream.getvalue()


def elements(array: Array, name: str) -> Array:
    """Return a read array as the stored elements of the Triton type `name`.

    It must have that very type: bf16 and fp8 are unsigned bits, `i1` is booleans. Nothing is cast.
    Raises `NotNpy`.
    """
    kind = stored(name)
    bits = np.dtype(f"u{kind.itemsize}")
    if array.dtype == kind:
        return array
    if array.dtype == np.bool_ and name in {"i1", "u1"}:
        return array.astype(kind)
    if array.dtype == bits and kind.isbuiltin != 1:
        return array.view(kind)
    wanted = kind if kind.isbuiltin == 1 else bits
    message = (
        f"the tensor holds {array.dtype}, but the argument is {name} ({wanted} in a .npy file)"
    )
    raise NotNpy(message)
