"""Checks the address of a tensor descriptor's base, as Triton does for tensors that have one.

Memory that torch allocates begins at a multiple of 16 bytes, so the offset of a view decides.
"""

from typing import Any

from torch._subclasses.fake_tensor import FakeTensor
from triton.tools.tensor_descriptor import TensorDescriptor

ALIGNMENT_BYTES = 16


def install() -> None:
    """Make `TensorDescriptor` check its base also if that is a fake tensor."""
    descriptor: Any = TensorDescriptor
    own = descriptor.__post_init__

    def check(self: Any) -> None:
        own(self)
        base = self.base
        if isinstance(base, FakeTensor):
            offset_bytes = base.storage_offset() * base.element_size()
            assert offset_bytes % ALIGNMENT_BYTES == 0, "base must be 16-byte aligned"

    descriptor.__post_init__ = check
