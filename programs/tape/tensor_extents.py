"""The bytes of its storage that a tensor spans, and checks that the storage has them."""

import math
from collections.abc import Sequence
from itertools import pairwise

from programs.tape.schema import ELEMENT_BYTES, MAX_STORAGE_BYTES, InvalidTape, Tape, TensorMeta


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the contiguous strides of this shape, in elements."""
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def spanned_bytes(
    shape: Sequence[int], strides: Sequence[int], offset: int, element_bytes: int
) -> int:
    """Return the bytes that a storage must have for such a tensor; 0 if it is empty."""
    if 0 in shape:
        return 0
    reach = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    return (offset + reach + 1) * element_bytes


def element_bytes(tensor: TensorMeta) -> int:
    """Return the bytes of one element."""
    return ELEMENT_BYTES[tensor.dtype]


def covers_storage(tensor: TensorMeta, storage_bytes: int) -> bool:
    """Return True if a tensor covers all of its storage, each element once."""
    wide = [(s, e) for s, e in zip(tensor.strides, tensor.shape, strict=True) if e != 1]
    expected = 1
    for stride, extent in sorted(wide):
        if stride != expected and extent:
            return False
        expected *= extent
    return not tensor.offset and expected * element_bytes(tensor) == storage_bytes


def may_overlap(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Return True if two indices may name one place."""
    axes = sorted((s, e) for s, e in zip(strides, shape, strict=True) if e > 1)
    if axes and axes[0][0] < 1:
        return True
    reached = 0
    for (stride, extent), (further, _) in pairwise(axes):
        reached += stride * (extent - 1)
        if further <= reached:
            return True
    return False


def check_tensors(tape: Tape) -> None:
    """Raise `InvalidTape` for a tensor beyond its storage, or a storage on two devices."""
    devices: dict[int, str] = {}
    for index, tensor in enumerate(tape.tensors):
        where = f"/tensors/{index}"
        if len(tensor.shape) != len(tensor.strides):
            sizes, steps = len(tensor.shape), len(tensor.strides)
            raise InvalidTape(where, f"it has {sizes} sizes and {steps} strides")
        size = element_bytes(tensor)
        if math.prod(tensor.shape) * size > MAX_STORAGE_BYTES:
            raise InvalidTape(where, f"its elements take more than {MAX_STORAGE_BYTES} bytes")
        needed = spanned_bytes(tensor.shape, tensor.strides, tensor.offset, size)
        if needed > tape.storages[tensor.storage]:
            there = tape.storages[tensor.storage]
            raise InvalidTape(
                where, f"it reaches {needed} bytes into storage {tensor.storage} of {there}"
            )
        if devices.setdefault(tensor.storage, tensor.device) != tensor.device:
            raise InvalidTape(where, f"storage {tensor.storage} is on two devices")


def check_constants(tape: Tape) -> None:
    """Raise `InvalidTape` for a constant whose bytes are not those of its tensor."""
    for index, data in tape.constants.items():
        tensor, where = tape.tensors[index], f"/constants/{index}"
        steps = zip(tensor.shape, tensor.strides, contiguous_strides(tensor.shape), strict=True)
        wrong = any(size > 1 and step != expected for size, step, expected in steps)
        if tensor.offset or (wrong and 0 not in tensor.shape):
            raise InvalidTape(where, "its tensor is not contiguous from the start of its storage")
        needed = math.prod(tensor.shape) * element_bytes(tensor)
        if not len(data) == needed == tape.storages[tensor.storage]:
            has = tape.storages[tensor.storage]
            raise InvalidTape(
                where, f"{len(data)} bytes for a tensor of {needed} in a storage of {has}"
            )
