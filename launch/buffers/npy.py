"""Reads and writes `.npy` files of plain numbers: no pickle, no objects, no structured dtypes.

Files are untrusted: `npy_header` parses the header and checks it against the file's length.
"""

import io
import math
from typing import Any

import numpy as np
from numpy.lib import format as numpy_format

from launch.buffers.element_types import Array, stored
from launch.buffers.npy_header import NotNpy, read_npy_header

npy: Any = numpy_format  # its type stubs lack annotations


def read(data: bytes) -> Array:
    """Return the array that `data` holds. Raises `NotNpy`."""
    header = read_npy_header(data)
    dtype, count = np.dtype(header.descr), math.prod(header.shape)
    flat = np.frombuffer(data, dtype, count, header.start) if count else np.empty(0, dtype)
    order: Any = "F" if header.fortran_order else "C"
    return flat.astype(dtype.newbyteorder("="), copy=False).reshape(header.shape, order=order)


def write(elements: Array) -> bytes:
    """Return `elements` as a `.npy` file; bf16 and fp8, which NumPy lacks, as unsigned bits."""
    stream = io.BytesIO()
    bits = elements if elements.dtype.isbuiltin == 1 else elements.view(f"u{elements.itemsize}")
    npy.write_array(stream, np.ascontiguousarray(bits), version=(1, 0), allow_pickle=False)
    return stream.getvalue()


def elements(array: Array, name: str) -> Array:
    """Return an array from a file as stored elements of the Triton type `name`.

    The dtypes must correspond, since nothing is cast: unsigned bits for bf16 and fp8, booleans for
    `i1`. Raises `NotNpy`.
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
