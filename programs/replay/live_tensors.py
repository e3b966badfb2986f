"""The live tensors of a tape on one device, checked against the tape.

An ATen result is used as it is if its layout is the recorded one. Otherwise it is copied into that
layout, since kernels got the recorded strides.
"""

from typing import Protocol

import torch

from programs.replay.operators import DTYPES
from programs.tape.schema import InvalidTape, Tape, TensorMeta
from programs.tape.tensor_extents import covers_storage


class SeparateMemory(Protocol):
    """Memory for some storages that torch does not allocate."""

    def wants(self, storage: int) -> bool:
        """Return True for a storage that is to lie there."""
        ...

    def take(self, storage: int, size_bytes: int) -> torch.Tensor | None:
        """Return its bytes, None if there is no room."""
        ...


class LiveTensors:
    """Tensors by their index in the tape, and the storages that they lie in."""

    def __init__(
        self, tape: Tape, device: torch.device, memory: SeparateMemory | None = None
    ) -> None:
        self._tape, self.device, self._memory = tape, device, memory
        self._tensors: dict[int, torch.Tensor] = {}
        self._octets: dict[int, torch.Tensor] = {}
        self._numbers: dict[int, int] = {}
        """The storages' indices, by torch's identity of each."""
        self._ids: dict[int, list[int]] = {}

    def get(self, id_: int) -> torch.Tensor:
        """Return a tensor. Raises `InvalidTape` if it does not exist, or no longer does."""
        tensor = self._tensors.get(id_)
        if tensor is not None:
            return tensor
        if self._tape.tensors[id_].storage not in self._octets:
            raise InvalidTape(f"/tensors/{id_}", "it is used before it is made")
        return self._keep(id_, self._view(id_))

    def has(self, storage: int) -> bool:
        """Return True if a storage exists."""
        return storage in self._octets

    def octets(self, storage: int) -> torch.Tensor:
        """Return the bytes of an existing storage."""
        return self._octets[storage]

    def make(self, id_: int) -> torch.Tensor:
        """Return a tensor as recorded, in new memory if its storage does not exist yet."""
        storage = self._tape.tensors[id_].storage
        if storage not in self._octets:
            self._add(storage, self._new_octets(storage))
        return self._keep(id_, self._view(id_))

    def _new_octets(self, storage: int) -> torch.Tensor:
        count, memory = self._tape.storages[storage], self._memory
        octets = None
        if memory is not None and count and memory.wants(storage):
            octets = memory.take(storage, count)
        if octets is None:
            octets = torch.empty(count, dtype=torch.uint8, device=self.device)
        return octets

    def adopt(self, storage: int, octets: torch.Tensor) -> None:
        """Make bytes the contents of a storage that does not exist yet."""
        self._add(storage, octets)

    def bind(
        self, id_: int, result: torch.Tensor, *, may_copy: bool, may_round: bool = False
    ) -> None:
        """Make a result the tensor `id_`. Raises `InvalidTape` if they do not agree.

        With `may_copy`, a view is copied if the tape has it in separate memory. With `may_round`,
        its floating-point dtype may differ.
        """
        meta = self._tape.tensors[id_]
        if may_round and result.is_floating_point() and DTYPES[meta.dtype].is_floating_point:
            result = result.to(DTYPES[meta.dtype])
        if result.dtype is not DTYPES[meta.dtype] or tuple(result.shape) != meta.shape:
            recorded = f"{meta.dtype} of shape {list(meta.shape)}"
            raise _unlike(id_, recorded, f"{result.dtype} of shape {list(result.shape)}")
        known = self._numbers.get(result.untyped_storage()._cdata)
        if meta.storage in self._octets:
            self._bind_view(id_, result, known)
        elif known is not None:
            if not may_copy:
                raise _unlike(id_, "new memory", "a view")
            self._copy(id_, result)
        elif self._lies_as_recorded(result, meta) and not self._must_move(meta):
            self._add(meta.storage, _octets_of(result))
            self._keep(id_, result)
        elif not covers_storage(meta, self._tape.storages[meta.storage]):
            raise _unlike(id_, f"strides {list(meta.strides)}", f"{list(result.stride())}")
        else:
            self._copy(id_, result)

    def free(self, storage: int) -> None:
        """Free a storage and all tensors in it."""
        octets = self._octets.pop(storage, None)
        if octets is not None:
            del self._numbers[octets.untyped_storage()._cdata]
        for id_ in self._ids.pop(storage, ()):
            self._tensors.pop(id_, None)

    def _bind_view(self, id_: int, result: torch.Tensor, known: int | None) -> None:
        meta = self._tape.tensors[id_]
        if known != meta.storage:
            raise _unlike(
                id_, "a view", "new memory" if known is None else "a view of another tensor"
            )
        if not _same_place(result, meta):
            place = f"offset {meta.offset}, strides {list(meta.strides)}"
            raise _unlike(id_, place, f"{result.storage_offset()}, {list(result.stride())}")
        self._keep(id_, result)

    def _copy(self, id_: int, result: torch.Tensor) -> None:
        made = self.make(id_)
        if self.device.type != "meta":
            made.copy_(result)

    def _must_move(self, meta: TensorMeta) -> bool:
        """Return True for a result that is to lie in other memory, if all of it can be copied."""
        is_wanted = self._memory is not None and self._memory.wants(meta.storage)
        return is_wanted and covers_storage(meta, self._tape.storages[meta.storage])

    def _lies_as_recorded(self, tensor: torch.Tensor, meta: TensorMeta) -> bool:
        count = tensor.untyped_storage().nbytes()
        return count == self._tape.storages[meta.storage] and _same_place(tensor, meta)

    def _add(self, storage: int, octets: torch.Tensor) -> None:
        self._octets[storage] = octets
        self._numbers[octets.untyped_storage()._cdata] = storage

    def _keep(self, id_: int, tensor: torch.Tensor) -> torch.Tensor:
        self._tensors[id_] = tensor
        self._ids.setdefault(self._tape.tensors[id_].storage, []).append(id_)
        return tensor

    def _view(self, id_: int) -> torch.Tensor:
        meta = self._tape.tensors[id_]
        kind, octets = DTYPES[meta.dtype], self._octets[meta.storage]
        elements = octets[: octets.numel() // kind.itemsize * kind.itemsize].view(kind)
        return elements.as_strided(meta.shape, meta.strides, meta.offset)


def bytes_of(tensor: torch.Tensor) -> bytes:
    """Return the elements of a tensor in C order."""
    if not tensor.numel():
        return b""
    data: bytes = in_order(tensor).view(torch.uint8).cpu().numpy().tobytes()
    return data


def in_order(tensor: torch.Tensor) -> torch.Tensor:
    """Return the elements of a tensor in C order, without a copy if possible.

    A single element gets the stride 1, too: with another one, torch refuses to view it as another
    dtype.
    """
    plain = tensor.resolve_conj().resolve_neg().contiguous()
    return plain.as_strided((plain.numel(),), (1,))


def _same_place(tensor: torch.Tensor, meta: TensorMeta) -> bool:
    if not tensor.numel():
        return True
    steps = zip(tensor.stride(), meta.strides, meta.shape, strict=True)
    return tensor.storage_offset() == meta.offset and all(
        stride == recorded for stride, recorded, extent in steps if extent > 1
    )


def _octets_of(tensor: torch.Tensor) -> torch.Tensor:
    """Return all bytes of a tensor's storage, in memory order."""
    storage = tensor.untyped_storage()
    octets = torch.empty(0, dtype=torch.uint8, device=tensor.device)
    return octets.set_(storage, 0, (storage.nbytes(),), (1,))


def _unlike(id_: int, recorded: str, actual: str) -> InvalidTape:
    return InvalidTape(f"/tensors/{id_}", f"the tape has {recorded}, but it is {actual}")
