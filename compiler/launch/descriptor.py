"""Host tensor descriptors: the rules that `triton.tools.tensor_descriptor` asserts."""

from math import prod

from compiler.launch.bound import Allocation, Buffer, Descriptor
from compiler.launch.element import ITEM_BYTES, is_floating
from compiler.launch.wire import WrittenDescriptor
from compiler.rejection import Fault, RequestRejected
from compiler.value import pointer_below

DESCRIPTOR_ALIGN_BYTES = 128
MAX_DIMENSIONS = 5
MAX_BLOCK_ELEMENTS = 1_048_576  # of any Triton tensor


def bind_descriptor(
    written: WrittenDescriptor, base: Buffer, allocation: Allocation, at: str
) -> Descriptor:
    """Return the descriptor over `base`, which lies in `allocation`.

    Raises RequestRejected for what the hardware cannot describe.
    """
    faults = [*_base_faults(base, allocation, at), *_block_faults(written, base, at)]
    if written.padding == "nan" and not is_floating(base.dtype):
        message = f"padding nan needs a floating-point dtype, not {base.dtype}"
        faults.append(Fault(pointer_below(at, "padding"), message))
    if faults:
        raise RequestRejected(*faults)
    return Descriptor(base=base, block_shape=written.block_shape, padding=written.padding)


def _base_faults(base: Buffer, allocation: Allocation, at: str) -> list[Fault]:
    at = pointer_below(at, "base")
    item_bytes = ITEM_BYTES[base.dtype]
    if not 1 <= len(base.shape) <= MAX_DIMENSIONS or 0 in base.shape:
        message = f"a descriptor has 1 to {MAX_DIMENSIONS} dimensions, none of them 0"
        return [Fault(at, message)]
    messages = []
    if allocation.align_bytes % 16 or base.offset * item_bytes % 16:
        messages.append("the base of a descriptor must be aligned to 16 bytes")
    if base.strides[-1] != 1:
        messages.append("the last dimension of a descriptor must have stride 1")
    if any(stride * item_bytes % 16 for stride in base.strides[:-1]):
        messages.append("all strides but the last must be multiples of 16 bytes")
    if any(stride < 0 for stride in base.strides):
        messages.append("strides of a descriptor cannot be negative")
    return [Fault(at, message) for message in messages]


def _block_faults(written: WrittenDescriptor, base: Buffer, at: str) -> list[Fault]:
    at = pointer_below(at, "block_shape")
    block = written.block_shape
    if len(block) != len(base.shape):
        return [Fault(at, f"{len(block)} dimensions, but the base has {len(base.shape)}")]
    if any(extent < 1 or extent & (extent - 1) for extent in block):
        return [Fault(at, "every extent must be a power of two")]
    if prod(block) > MAX_BLOCK_ELEMENTS:
        return [Fault(at, f"a block has at most {MAX_BLOCK_ELEMENTS} elements")]
    return []
