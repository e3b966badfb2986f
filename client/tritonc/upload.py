"""Uploads of arrays: objects with `__array__`, or the bytes of .npy files.

This package does not require NumPy; it is imported when an array is given, which needs it anyway.
"""

import ast
import hashlib
import io
from dataclasses import dataclass
from typing import Any

MAGIC = b"\x93NUMPY"
ALIGNMENT = 16  # bytes; Triton specializes on addresses divisible by it
NARROW = {  # types that .npy files store as unsigned bits, by the names of ml_dtypes
    "bfloat16": "bf16",
    "float8_e4m3fn": "fp8e4nv",
    "float8_e4m3fnuz": "fp8e4b8",
    "float8_e5m2": "fp8e5",
    "float8_e5m2fnuz": "fp8e5b16",
}
_LETTERS = {"f": "fp", "i": "i", "u": "u"}
_HEADER_AT = {1: 10, 2: 12}  # by the major version of the format


@dataclass(frozen=True, slots=True)
class Upload:
    """A .npy file and its meaning for the kernel: a tensor of `dtype`, in Triton's spelling.

    `output`: the kernel also writes it, and its contents are compared and returned.
    """

    content: bytes
    shape: tuple[int, ...]
    dtype: str
    output: bool = False
    strides: tuple[int, ...] | None = None
    """In elements, if they are not those of C order."""
    align_bytes: int | None = None
    """The alignment of the address, if less than 16."""

    @property
    def digest(self) -> str:
        """The name under which the service stores it."""
        return "sha256:" + hashlib.sha256(self.content).hexdigest()

    def described(self) -> dict[str, Any]:
        """Return the JSON of the argument."""
        init = {"kind": "tensor", "digest": self.digest}
        buffer: dict[str, Any] = {"shape": list(self.shape), "dtype": self.dtype, "init": init}
        buffer |= {"strides": list(self.strides)} if self.strides is not None else {}
        buffer |= {"align_bytes": self.align_bytes} if self.align_bytes is not None else {}
        return buffer | ({"output": True} if self.output else {})


def array(values: Any, dtype: str | None = None, *, output: bool = False) -> Upload:
    """Return `values` to pass as an argument: an array, a tensor, or the bytes of a .npy file.

    The kernel writes to a copy: `values` stays as it is. What it wrote of an `output` is fetched
    with `returns={"name": "tensor"}` and `client.launches.output(launch.id, "name")`.

    A torch tensor may be on any device, and may have a dtype that NumPy lacks, such as bf16. Its
    strides, and whether its address is a multiple of 16 bytes, are sent along. `dtype` is needed
    if the array only holds bits: `array(x.view(np.uint16), "bf16")`.

    Raises TypeError if it is not an array of numbers, ValueError for invalid .npy files.
    """
    content, narrow = (values, None) if isinstance(values, bytes) else _saved(values)
    shape, kind = _read_header(content)
    placed = {} if isinstance(values, bytes) else _placed(values)
    return Upload(content, shape, dtype or narrow or kind, output, **placed)


def is_array(value: Any) -> bool:
    """Return True if `value` is an array without an explicit `array` call."""
    if isinstance(value, bytes):
        return value.startswith(MAGIC)
    return hasattr(value, "__array__") and hasattr(value, "__len__")


def _placed(values: Any) -> dict[str, Any]:
    """Return strides and alignment if they differ from those of a new array in C order."""
    if callable(getattr(values, "data_ptr", None)):  # a tensor of torch
        address = values.data_ptr()
        aligned = {"align_bytes": address & -address} if address % ALIGNMENT else {}
        return aligned | ({} if values.is_contiguous() else {"strides": tuple(values.stride())})
    import numpy as np

    elements = np.asarray(values)
    if elements.flags.c_contiguous:
        return {}
    return {"strides": tuple(step // elements.itemsize for step in elements.strides)}


def _on_cpu(values: Any) -> tuple[Any, str | None]:
    """Return a torch tensor as NumPy accepts it, and its dtype if only its bits can be sent."""
    if not callable(getattr(values, "detach", None)):
        return values, None
    tensor = values.detach().cpu()
    narrow = NARROW.get(str(tensor.dtype).removeprefix("torch."))
    if narrow is None:
        return tensor, None
    import torch

    bits = torch.int16 if tensor.element_size() == 2 else torch.int8
    return tensor.contiguous().view(bits), narrow


def _saved(values: Any) -> tuple[bytes, str | None]:
    """Return the .npy file of an array and, if it holds bits only, their dtype."""
    if not hasattr(values, "__array__"):
        kind = type(values).__name__
        raise TypeError(f"a {kind} is not an array; pass what NumPy can read, or .npy bytes")
    try:
        import numpy as np
    except ModuleNotFoundError as error:
        message = "arrays need NumPy: pip install numpy, or pass the bytes of .npy files"
        raise TypeError(message) from error
    held, narrow = _on_cpu(values)
    try:
        elements = np.asarray(held)
    except TypeError as error:
        message = (
            f"NumPy cannot read this {type(values).__name__}: {error}; move a tensor to the CPU, "
            'and pass bf16 as tritonc.array(x.view(torch.uint16), "bf16")'
        )
        raise TypeError(message) from error
    narrow = narrow or NARROW.get(elements.dtype.name)
    bits = elements.view(f"u{elements.itemsize}") if narrow else elements
    file = io.BytesIO()
    try:
        np.save(file, np.asarray(bits, order="C"), allow_pickle=False)
    except ValueError as error:
        raise TypeError(f"an array of {elements.dtype} cannot be sent: {error}") from error
    return file.getvalue(), narrow


def _read_header(content: bytes) -> tuple[tuple[int, ...], str]:
    start = _HEADER_AT.get(content[6]) if content.startswith(MAGIC) and len(content) > 12 else None
    if start is None:
        raise ValueError("these bytes are not a .npy file of format 1 or 2; numpy.save makes them")
    length = int.from_bytes(content[8:start], "little")
    try:
        header = ast.literal_eval(content[start : start + length].decode("latin-1").strip())
        return tuple(header["shape"]), _triton_name(header["descr"])
    except (ValueError, SyntaxError, KeyError, TypeError) as error:
        raise ValueError(f"cannot read the header of this .npy file: {error}") from error


def _triton_name(descr: str) -> str:
    letter, width = descr[1], int(descr[2:])
    if letter == "b":
        return "i1"
    if letter not in _LETTERS:
        raise ValueError(f"kernels cannot take elements of {descr!r}; convert them to numbers")
    return f"{_LETTERS[letter]}{8 * width}"
