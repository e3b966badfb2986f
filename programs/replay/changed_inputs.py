"""Finds inputs, parameters and buffers that a call changes in place, which are results, too.

Digests show the changes. Only the contents of changed ones are kept, after their last use. On a GPU
digests also cover all other live memory, which a kernel could reach behind an address that it
loads.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence

import torch

from programs.replay.live_tensors import LiveTensors, bytes_of
from programs.replay.replay_order import CALLS, MOST_OUTPUT_BYTES
from programs.replay.storage_lifetimes import changed_tensors
from programs.tape.schema import Phase, Tape, changeable

Digests = Callable[[Sequence[torch.Tensor]], Sequence[object]]
"""Returns values that are equal only for equal bytes of storages, within this process."""


class ChangedInputs:
    """Watches what `changeable` lists, in one call after the other."""

    def __init__(
        self, tape: Tape, tensors: LiveTensors, digests: Digests, *, watches_all: bool
    ) -> None:
        """With `watches_all`, also watch all memory that no op of a call may write."""
        self._tape, self._tensors, self._digests_of = tape, tensors, digests
        self._watches_all = watches_all
        self._written: frozenset[int] = frozenset()
        self._before: dict[int, object] = {}
        self.unexplained: set[int] = set()
        """The storages that some call changed, although none of its ops may write them."""
        self._kept: dict[int, bytes] = {}
        self._left_bytes = MOST_OUTPUT_BYTES
        self.too_many = False
        """True if the changed ones exceed the limit of what is compared."""

    def begin(self, phase: Phase) -> None:
        """Digest the memory that an op of the next call may write, or all memory."""
        self._before, self._kept = {}, {}
        if phase not in CALLS:
            return
        self._written = may_be_written(self._tape, phase)
        watched = {self._storage(id_) for id_ in _watched(self._tape, phase)} & self._written
        if self._watches_all:
            watched |= set(range(len(self._tape.storages))) - self._written
        there = sorted(storage for storage in watched if self._tensors.has(storage))
        self._before = dict(zip(there, self._digests(there), strict=True))

    def leave(self, storages: Iterable[int], phase: Phase) -> None:
        """Check storages after their last use, before they are freed."""
        gone = [one for one in storages if one in self._before]
        if not gone:
            return
        pairs = zip(gone, self._digests(gone), strict=True)
        changed = {one for one, digest in pairs if digest != self._before.pop(one)}
        self.unexplained |= changed - self._written
        changed &= self._written
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

    def _digests(self, storages: Sequence[int]) -> Sequence[object]:
        return self._digests_of([self._tensors.octets(one) for one in storages])


def digests_on_host(octets: Sequence[torch.Tensor]) -> list[bytes]:
    """Return the digests of bytes on the CPU."""
    return [hashlib.blake2b(one.numpy()).digest() for one in octets]


def _watched(tape: Tape, phase: Phase) -> list[int]:
    return [id_ for _, id_ in changeable(tape, 0 if phase == CALLS[0] else 1)]


def may_be_written(tape: Tape, phase: Phase) -> frozenset[int]:
    """Return the storages that the ops of a phase may write."""
    ids = [id_ for op in tape.ops if op.phase == phase for id_ in changed_tensors(op)]
    return frozenset([tape.tensors[id_].storage for id_ in ids])
