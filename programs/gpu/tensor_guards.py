"""Puts tensors that kernels get between unmapped pages, as launches do with their buffers.

torch packs tensors side by side, so an access past the end of one finds its neighbour. In a checked
replay it faults here, or changes a red zone. Timed runs use torch's memory. Only program launchers
import this.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch

from programs.gpu.memory_ranges import ALIGN_BYTES
from worker.gpu.launcher.device import CudaError, GpuDevice
from worker.gpu.launcher.guarded_memory import CANARY, GuardedBlock, GuardedMemory
from worker.gpu.launcher.memory_checks import MemoryChecks, filled


class _Exposed:
    """Memory in the form in which torch adopts it."""

    def __init__(self, block: GuardedBlock) -> None:
        self.__cuda_array_interface__ = {
            "shape": (block.size_bytes,),
            "typestr": "|u1",
            "data": (block.address, False),
            "version": 2,
        }


class TensorGuards:
    """The guarded tensors of one replay at a time. Raises CudaError."""

    def __init__(self, device: GpuDevice) -> None:
        self.page_bytes = device.granularity_bytes
        self._memory = GuardedMemory(device)
        self._checks = MemoryChecks(device)
        self._wanted: frozenset[int] = frozenset()
        self._blocks: dict[int, GuardedBlock] = {}

    def begin(self, storages: frozenset[int]) -> None:
        """Guard these storages of the next replay."""
        self._wanted = storages

    def wants(self, storage: int) -> bool:
        """Return True for a storage to guard."""
        return storage in self._wanted

    def take(self, storage: int, size_bytes: int) -> torch.Tensor | None:
        """Return the bytes of a storage; None if the GPU has too little memory for guards."""
        try:
            block = self._memory.take(size_bytes, ALIGN_BYTES, is_argument=True)
        except CudaError as error:
            if error.name != "CUDA_ERROR_OUT_OF_MEMORY":
                raise
            self._wanted = frozenset()
            return None
        self._blocks[storage] = block
        return torch.as_tensor(_Exposed(block), device="cuda")

    def damaged(self, storages: Iterable[int] | None = None) -> list[int]:
        """Return those storages with a changed red zone, once; None: look at all."""
        looked = list(self._blocks) if storages is None else list(storages)
        zones = [
            (storage, filled(start, size_bytes, CANARY))
            for storage in looked
            if storage in self._blocks
            for start, size_bytes in self._blocks[storage].zones
            if size_bytes
        ]
        if not zones:
            return []
        answers = self._checks.ask([check for _, check in zones])
        damaged = {storage for (storage, _), bad in zip(zones, answers, strict=True) if bad}
        for storage in damaged:
            del self._blocks[storage]
        return sorted(damaged)

    def end(self) -> None:
        """Zero the memory of the replay, whose tensors are gone, for the next one."""
        self._wanted, self._blocks = frozenset(), {}
        self._memory.scrub()
