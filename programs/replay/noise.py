"""Replaces the results of ATen ops by noise, so that a replay shows what depends on them.

Noise is finite, and has the magnitude of what it replaces. Integers stay between the least and the
largest one, so that indices stay legal.
"""

import torch

from programs.replay.live_tensors import LiveTensors
from programs.tape.overload_effects import written_tensors
from programs.tape.schema import AtenOp, Tape, TensorMeta
from programs.tape.tensor_extents import covers_storage, may_overlap

_PIECE = 1 << 20
"""The elements that are replaced at a time, which bounds the memory of noise."""
_PARTS_OF_COMPLEX = {torch.complex64: torch.float32, torch.complex128: torch.float64}


class Noise:
    """The noise of one replay, from a generator of its own."""

    def __init__(self, tape: Tape, tensors: LiveTensors, seed: int, share: float) -> None:
        self._tape, self._tensors, self._share = tape, tensors, share
        self._generator = torch.Generator()
        self._generator.manual_seed(seed)

    def replace_results(self, op: AtenOp) -> None:
        """Replace the elements that an op returned or changed in place."""
        returned = [id_ for id_ in op.outputs if id_ is not None]
        for id_ in dict.fromkeys((*returned, *written_tensors(op))):
            self._replace(id_)

    def _replace(self, id_: int) -> None:
        meta = self._tape.tensors[id_]
        found = self._tensors.get(id_)
        if not found.numel():
            return
        if covers_storage(meta, self._tape.storages[meta.storage]):
            self._fill(_typed(self._tensors.octets(meta.storage), found.dtype))
        elif may_overlap(meta.shape, meta.strides):
            self._fill_overlapping(meta, found.dtype)
        else:
            elements = found.reshape(-1).clone()
            self._fill(_as_real(elements))
            found.copy_(elements.reshape(found.shape))

    def _fill_overlapping(self, meta: TensorMeta, kind: torch.dtype) -> None:
        """Replace each element of a tensor that has several names for one place."""
        octets = self._tensors.octets(meta.storage)
        whole = octets[: octets.numel() // kind.itemsize * kind.itemsize].view(kind)
        numbers = torch.arange(whole.numel())
        places = numbers.as_strided(meta.shape, meta.strides, meta.offset).unique()
        elements = whole[places]
        self._fill(_as_real(elements))
        whole[places] = elements

    def _fill(self, elements: torch.Tensor) -> None:
        """Replace the elements of a vector, piece by piece."""
        for piece in elements.split(_PIECE):
            piece.copy_(self._noise_for(piece))

    def _noise_for(self, piece: torch.Tensor) -> torch.Tensor:
        """Return other elements of the same kind; at least one differs."""
        if piece.dtype is torch.bool:
            other = self._of_integers(piece.to(torch.uint8)).to(torch.bool)
        elif piece.is_floating_point():
            other = self._of_floats(piece)
        else:
            other = self._of_integers(piece)
        if self._share < 1:
            chosen = self._uniform(piece.numel()) < self._share
            chosen[self._below(piece.numel())] = True
            other = torch.where(chosen, other, piece)
        return other

    def _of_floats(self, piece: torch.Tensor) -> torch.Tensor:
        """Return the elements in another order, with random signs and factors."""
        wide = piece.to(torch.float64 if piece.dtype is torch.float64 else torch.float32)
        known = wide[wide.isfinite()]
        scale = float(known.square().mean().sqrt()) if known.numel() else 0.0
        limit = torch.finfo(piece.dtype).max
        scale = min(scale, limit / 4) or 1.0
        count = piece.numel()
        drawn = torch.empty(count, dtype=wide.dtype).normal_(generator=self._generator) * scale
        moved = wide.roll(self._below(count)).nan_to_num(0.0, 0.0, 0.0)
        factor = (0.5 + self._uniform(count)) * (1 - 2 * (self._uniform(count) < 0.5).float())
        other = torch.where(moved == 0, drawn, moved * factor)
        return other.clamp(-limit, limit).to(piece.dtype)

    def _of_integers(self, piece: torch.Tensor) -> torch.Tensor:
        """Return random integers within the range of the elements."""
        low, high = int(piece.min()), int(piece.max())
        if low == high:
            low, high = min(low, 0), max(high, 1 if low == 0 else 0)
        span = (high - low + 1) % (1 << 63)
        drawn = torch.randint(max(span, 1), piece.shape, generator=self._generator)
        other = (drawn + low).to(piece.dtype)
        mirrored = ((low + high) - piece.to(torch.int64)).to(piece.dtype)
        return torch.where(other == piece, mirrored, other)

    def _uniform(self, count: int) -> torch.Tensor:
        return torch.rand(count, generator=self._generator)

    def _below(self, count: int) -> int:
        return int(torch.randint(count, (1,), generator=self._generator))


def _typed(octets: torch.Tensor, kind: torch.dtype) -> torch.Tensor:
    return octets.view(_PARTS_OF_COMPLEX.get(kind, kind))


def _as_real(elements: torch.Tensor) -> torch.Tensor:
    """Return a vector's memory, as the parts of its elements if they are complex."""
    if not elements.is_complex():
        return elements
    return torch.view_as_real(elements.resolve_conj()).reshape(-1)
