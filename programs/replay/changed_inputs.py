"""Finds inputs, parameters and buffers that a call changes in place, which are results, too.

Digests show the changes. Only the contents of changed ones are kept, after their last use.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping

import torch

from programs.replay.live_tensors import LiveTensors, bytes_of
from programs.replay.replay_order import CALLS, MOST_OUTPUT_BYTES
from programs.replay.storage_lifetimes import changed_tensors
from programs.tape.output_paths import changeable
from programs.tape.schema import Phase, Tape

Digest = Callable[[torch.Tensor], object]
"""Returns a value that is equal only for equal bytes of a storage, within this process."""


class ChangedInputs:
    """Watches what `changeable` lists, in one call after the other."""

    def __init__(self, tape: Tape, tensors: LiveTensors, digest: Digest) -> None:
        self._tape, self._tensors, self._digest_of = tape, tensors, digest
        self._before: dict[int, object] = {}
        self._kept: dict[int, bytes] = {}
        self._left_bytes = MOST_OUTPUT_BYTES
        self.too_many = False
        """True if the changed ones exceed the limit of what is compared."""

    def begin(self, phase: Phase) -> None:
        """Digest the memory that an op of the next call may write."""
        self._before, self._kept = {}, {}
        if phase not in CALLS:
            return
        written = _may_be_written(self._tape, phase)
        for storage in {self._storage(id_) for id_ in _watched(self._tape, phase)} & written:
            if self._tensors.has(storage):
                self._before[storage] = self._digest(storage)

    def leave(self, storages: Iterable[int], phase: Phase) -> None:
        """Check storages after their last use, before they are freed."""
        gone = {one for one in storages if one in self._before}
        changed = {one for one in gone if self._digest(one) != self._before.pop(one)}
        if not changed:
            return
        for position, id_ in enumerate(_watched(self._tape, phase)):
            if self._storage(id_) in changed:
                self._keep(position, id_)

    def end(self, phase: Phase) -> Mapping[int, bytes]:
        """Return the contents of what a call changed, by its position in `changeable`."""
        self.leave(tuple(self._before), phase)
        return dict(self._kept)

    def _keep(self, position: int, id_: int) -> None:
        # `out=` may have reshaped it; the caller sees the bytes of the original shape
        meta = self._tape.tensors[id_]
        tensor = self._tensors.get(id_).as_strided(meta.shape, meta.strides, meta.offset)
        self._left_bytes -= tensor.numel() * tensor.itemsize
        if self._left_bytes < 0:
            self.too_many = True
        else:
            self._kept[position] = bytes_of(tensor)

    def _storage(self, id_: int) -> int:
        return self._tape.tensors[id_].storage

    def _digest(self, storage: int) -> object:
        return self._digest_of(self._tensors.octets(storage))


def digest_on_host(octets: torch.Tensor) -> bytes:
    """Return the digest of bytes on the CPU."""
    return hashlib.blake2b(octets.numpy()).digest()


def _watched(tape: Tape, phase: Phase) -> list[int]:
    return [id_ for _, id_ in changeable(tape, 0 if phase == CALLS[0] else 1)]


def _may_be_written(tape: Tape, phase: Phase) -> frozenset[int]:
    ids = [id_ for op in tape.ops if op.phase == phase for id_ in changed_tensors(op)]
    return frozenset([tape.tensors[id_].storage for id_ in ids])
