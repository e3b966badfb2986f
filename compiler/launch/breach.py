"""How an argument breaks a hint: what it is, in words that say why the hint is not true of it."""

from compiler.launch.bound import Argument, BoundArguments, Buffer, Scalar
from compiler.launch.by_value import MAX_RANGE_BYTES
from compiler.launch.element import ITEM_BYTES
from compiler.launch.scalar import integer
from compiler.rejection import shown
from compiler.value import plain_value


def breach_of(hint: str, argument: Argument, bound: BoundArguments) -> str | None:
    """Return how `argument` breaks `hint`, None when it keeps it."""
    if isinstance(argument, Buffer):
        return _of_pointer(hint, argument, bound)
    if not isinstance(argument, Scalar):
        return None
    number = integer(argument) if not isinstance(argument.value, bool) else int(argument.value)
    if hint == "equal_to_1":
        return None if number == 1 else f"is {shown(plain_value(argument.value))}, not 1"
    if number is not None and number % 16 == 0:
        return None
    return f"is {shown(plain_value(argument.value))}, not a multiple of 16"


def _of_pointer(hint: str, buffer: Buffer, bound: BoundArguments) -> str | None:
    base = bound.allocations[buffer.allocation]
    if hint == "pointer_range_32":
        if base.size_bytes <= MAX_RANGE_BYTES:
            return None
        return f"lies in {base.size_bytes} bytes, more than the {MAX_RANGE_BYTES} of its range"
    if bound.is_divisible_by_16(buffer):
        return None
    offset_bytes = buffer.offset * ITEM_BYTES[buffer.dtype]
    return (
        f"begins {offset_bytes} bytes into memory that is aligned to {base.align_bytes}, so its "
        "address is no multiple of 16"
    )
