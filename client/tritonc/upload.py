"""Arrays that travel: anything with `__array__`, or the bytes of a .npy file, as an upload.

NumPy is not needed by this package; it is imported when an array is given, which has it anyway.
"""

import ast
import hashlib
import io
from dataclasses import dataclass
from typing import Any

MAGIC = b"\x93NUMPY"
ALIGNMENT = 16  # bytes; what Triton asks of an address
NARROW = {  # what .npy files hold as unsigned bits, by the names of ml_dtypes
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
    """A .npy file and what it is to the kernel: a tensor of `dtype`, in Triton's spelling.

    `output`: the kernel writes it too, and its contents are compared and returned.
    """

    content: bytes
    shape: tuple[int, ...]
    dtype: str
    output: bool = False
    strides: tuple[int, ...] | None = None
    """In elements, where they are not those of C order: a kernel is passed strides, too."""
    align_bytes: int | None = None
    """What the address is a multiple of, where that is less than 16."""

    @property
    def digest(self) -> str:
        """The name under which the service keeps it."""
        return "sha256:" + hashlib.sha256(self.content).hexdigest()

    def described(self) -> dict[str, Any]:
        """Return the JSON of the argument."""
        init = {"kind": "tensor", "digest": self.digest}
        buffer: dict[str, Any] = {"shape": list(self.shape), "dtype": self.dtype, "init": init}
        buffer |= {"strides": list(self.strides)} if self.strides is not None else {}
        buffer |= {"align_bytes": self.align_bytes} if self.align_bytes is not None else {}
        return buffer | ({"output": True} if self.output else {})


def array(values: Any, dtype: str | None = None, *, output: bool = False) -> Upload:
    """Return `values` to pass as an argument: an array, a CPU tensor, or the bytes of a .npy file.

    A tensor of torch may be on any device, and of a dtype that NumPy lacks, such as bf16. What
    strides it has, and whether its address is a multiple of 16 bytes, is passed on. `dtype` is
    needed where the bits are not what their type says: `array(x.view(np.uint16), "bf16")`.

    Raises TypeError for what is no array of numbers, ValueError for bytes that are no .npy file.
    """
    content, narrow = (values, None) if isinstance(values, bytes) else _saved(values)
    shape, kind = _read_header(content)
    placed = {} if isinstance(values, bytes) else _placed(values)
    return Upload(content, shape, dtype or narrow or kind, output, **placed)


def is_array(value: Any) -> bool:
    """Whether `value` is taken for an array without being told."""
    if isinstance(value, bytes):
        return value.startswith(MAGIC)
    return hasattr(value, "__array__") and hasattr(value, "__len__")


def _placed(values: Any) -> dict[str, Any]:
    """Return strides and alignment, where they are not what a new array in C order has."""
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
    """Return a tensor of torch as NumPy takes it, and its dtype if only its bits can travel."""
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
    """Return the .npy file of an array and, when it holds bits only, their dtype."""
    if not hasattr(values, "__array__"):
        kind = type(values).__name__
        raise TypeError(f"a {kind} is no array: pass what NumPy can read, or bytes of a .npy file")
    try:
        import numpy as np
    except ModuleNotFoundError as error:
        message = "arrays are passed on with NumPy: pip install numpy, or pass bytes of .npy files"
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
        raise TypeError(f"an array of {elements.dtype} cannot be passed on: {error}") from error
    return file.getvalue(), narrow


def _read_header(content: bytes) -> tuple[tuple[int, ...], str]:
    start = _HEADER_AT.get(content[6]) if content.startswith(MAGIC) and len(content) > 12 else None
    if start is None:
        raise ValueError("these bytes are no .npy file of format 1 or 2; numpy.save makes them")
    length = int.from_bytes(content[8:start], "little")
    try:
        header = ast.literal_eval(content[start : start + length].decode("latin-1").strip())
        return tuple(header["shape"]), _triton_name(header["descr"])
    except (ValueError, SyntaxError, KeyError, TypeError) as error:
        raise ValueError(f"the header of this .npy file cannot be read: {error}") from error


def _triton_name(descr: str) -> str:
    letter, width = descr[1], int(descr[2:])
    if letter == "b":
        return "i1"
    if letter not in _LETTERS:
        raise ValueError(f"elements of {descr!r} are no numbers that a kernel can take")
    return f"{_LETTERS[letter]}{8 * width}"
