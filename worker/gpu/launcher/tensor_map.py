"""Tensor maps, which describe tensors to Hopper's copy engine, as Triton's launcher makes them.

After `fill_tma_descriptor_tiled` in Triton's third_party/nvidia/backend/driver.c.
"""

import ctypes
from collections.abc import Mapping
from math import prod
from typing import Any

from cuda.bindings import driver as cu

from worker.gpu.launcher.device import CudaError, check
from worker.gpu.launcher.fault import JobFailed

TENSOR_MAP_BYTES = 128
# the numbers of element types in Triton's metadata and in CUDA's enum differ for these three
_HOST_TYPES = {8: 10, 9: 8, 10: 9}
_LAST_TO_PATCH = 13010
_SMALL_BYTES = 128 * 1024


class TensorMaps:
    """Makes tensor maps for the driver of this process."""

    def __init__(self, driver_version: int) -> None:
        self._patch_small = driver_version <= _LAST_TO_PATCH

    def encode(
        self, descriptor: Mapping[str, Any], address: int, facts: Mapping[str, Any]
    ) -> bytes:
        """Return the map of a bound descriptor whose base is at `address`. Raises JobFailed."""
        try:
            shape = [int(extent) for extent in descriptor["base"]["shape"]]
            strides = [int(stride) * facts["elem_size"] for stride in descriptor["base"]["strides"]]
            if facts.get("fp4_padded"):
                shape[-1] *= 2
            made = self._encode(shape, strides, address, facts, descriptor["padding"] == "nan")
        except KeyError as error:
            raise JobFailed("malformed_job", f"a tensor map lacks {error}") from error
        except CudaError as error:
            message = f"no tensor map for shape {shape}, strides {strides} bytes: {error}"
            raise JobFailed("malformed_job", message) from error
        raw = bytearray(ctypes.string_at(made.getPtr(), TENSOR_MAP_BYTES))
        if self._patch_small and self._span_bytes(shape, strides, facts["elem_size"]) < (
            _SMALL_BYTES
        ):
            raw[10] &= ~0x20  # bit 21 of the second word; a driver's mistake, fixed as CUTLASS does
        return bytes(raw)

    def _encode(
        self,
        shape: list[int],
        strides: list[int],
        address: int,
        facts: Mapping[str, Any],
        nan: bool,
    ) -> Any:
        rank = len(shape)
        fill = cu.CUtensorMapFloatOOBfill
        element = int(facts["elem_type"])
        outer = [cu.cuuint64_t(stride) for stride in reversed(strides[:-1])]
        return check(
            cu.cuTensorMapEncodeTiled(
                cu.CUtensorMapDataType(_HOST_TYPES.get(element, element)),
                rank,
                address,
                [cu.cuuint64_t(extent) for extent in reversed(shape)],
                outer or [cu.cuuint64_t(prod(shape) * facts["elem_size"])],
                [cu.cuuint32_t(extent) for extent in reversed(facts["block_size"])],
                [cu.cuuint32_t(1)] * rank,
                cu.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
                cu.CUtensorMapSwizzle(int(facts["swizzle"])),
                cu.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                fill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
                if nan
                else fill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
            ),
            "encoding a tensor map",
        )

    @staticmethod
    def _span_bytes(shape: list[int], strides: list[int], elem_size: int) -> int:
        inner = [*strides[:-1], elem_size]
        return sum((extent - 1) * step for extent, step in zip(shape, inner, strict=True)) + 1
