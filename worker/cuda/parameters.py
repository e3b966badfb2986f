"""Kernel parameters where the driver wants them: aligned bytes, and an array of their addresses."""

import ctypes
from collections.abc import Sequence

_ALIGN_BYTES = 128  # of tensor maps; every other parameter needs less


class ParameterBlock:
    """Holds the bytes of all parameters of one kernel for as long as it may be launched."""

    def __init__(self, packed: Sequence[bytes]) -> None:
        size = sum(-(-len(value) // _ALIGN_BYTES) for value in packed) * _ALIGN_BYTES
        self._bytes = ctypes.create_string_buffer(size + _ALIGN_BYTES)
        self._pointers = (ctypes.c_void_p * max(1, len(packed)))()
        address = -(-ctypes.addressof(self._bytes) // _ALIGN_BYTES) * _ALIGN_BYTES
        for index, value in enumerate(packed):
            ctypes.memmove(address, value, len(value))
            self._pointers[index] = address
            address += -(-len(value) // _ALIGN_BYTES) * _ALIGN_BYTES

    @property
    def address(self) -> int:
        """Of the array of pointers that cuLaunchKernelEx takes."""
        return ctypes.addressof(self._pointers)
