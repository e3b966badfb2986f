"""Watches live memory that timed runs may not write, by digests. Uses torch, but no CUDA API.

Other inputs in each run leave nothing to gain by kept results. This shows a kernel that keeps some
nevertheless, or that reaches for its reference's memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from programs.gpu.prepared_calls import PreparedCalls, TimedProgram
from programs.gpu.program_order import MOST_CHANGED

if TYPE_CHECKING:  # tests time programs without CUDA
    from programs.gpu.cuda_timing import CudaTiming


class WatchedMemory:
    """The tensors of a program and its reference that keep their contents in all runs.

    Those that a call may write are restored before each run, and inputs are drawn again.
    """

    def __init__(
        self,
        programs: Sequence[TimedProgram],
        calls: Sequence[PreparedCalls],
        device: CudaTiming,
    ) -> None:
        """Digest them. The first program is the candidate."""
        self._device = device
        self._storages: list[int | None] = []
        """The candidate's storage of each watched tensor; None: it is of no call of it."""
        self._octets: list[torch.Tensor] = []
        for program, prepared in zip(programs, calls, strict=True):
            of_candidate = program is programs[0]
            for storage in _kept(program, prepared):
                self._storages.append(storage if of_candidate else None)
                self._octets.append(program.tensors.octets(storage))
            self._octets += prepared.copies
            self._storages += [None] * len(prepared.copies)
        self._before = device.digests(self._octets)
        self._changed: set[int] = set()
        self._changed_elsewhere = False

    def look(self) -> None:
        """Digest them again, and note those that changed."""
        now = self._device.digests(self._octets)
        for storage, digest, before in zip(self._storages, now, self._before, strict=True):
            if digest == before:
                continue
            if storage is None:
                self._changed_elsewhere = True
            else:
                self._changed.add(storage)
        self._before = now

    def report(self) -> dict[str, Any]:
        """Return the result's fields `changed_storages` and `changed_elsewhere`."""
        return {
            "changed_storages": sorted(self._changed)[:MOST_CHANGED],
            "changed_elsewhere": self._changed_elsewhere,
        }


def _kept(program: TimedProgram, prepared: PreparedCalls) -> list[int]:
    drawn = frozenset[int]() if program.fresh is None else program.fresh.storages
    changing = prepared.written | drawn
    return [
        storage
        for storage in range(len(program.tape.storages))
        if program.tensors.has(storage) and storage not in changing
    ]
