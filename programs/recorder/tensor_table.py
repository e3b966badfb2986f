"""Numbers the tensors of a recording.

A tensor is found by its Python object, or by its storage and geometry: autograd and `.data` make
further objects of the same tensor, which no op returns.
"""

from typing import Any

import torch

from programs.recorder.not_recordable import NotRecordable
from programs.tape.schema import TRITON_NAMES
from programs.tape.tape_bounds import MAX_RANK

_Key = tuple[Any, ...]


class TensorTable:
    """The tensors and storages of one tape. Keeps all of them alive, as keys are addresses."""

    def __init__(self, most: int) -> None:
        self.tensors: list[list[Any]] = []
        self.storages: list[int] = []
        """The bytes of each storage."""
        self._most = most
        self._storage_ids: dict[int, int] = {}
        self._by_object: dict[int, tuple[int, _Key]] = {}
        self._by_key: dict[_Key, int] = {}
        self._by_storage: dict[int, list[int]] = {}
        self._kept: list[Any] = []

    def find(self, tensor: Any) -> int | None:
        """Return the number of a known tensor, by its object or its key; None for others."""
        key = key_of(tensor)
        known = self._by_object.get(id(tensor))
        if known is not None and known[1] == key:
            return known[0]
        return self._by_key.get(key)

    def beside(self, tensor: Any) -> int | None:
        """Return a tensor of the same dtype and storage, for `as_strided`; None without one."""
        if tensor.is_conj() or tensor.is_neg():
            return None
        name = TRITON_NAMES.get(str(tensor.dtype).removeprefix("torch."))
        found = self._by_storage.get(tensor.untyped_storage()._cdata, ())
        return next((number for number in found if self.tensors[number][0] == name), None)

    def add(self, tensor: Any) -> int:
        """Return the number of a tensor that an op returned; adds it if it is new.

        Raises `NotRecordable` for a layout, rank, dtype or device that a tape cannot hold.
        """
        if tensor.layout is not torch.strided:
            raise NotRecordable("unsupported_tensor", f"its layout is {tensor.layout}")
        if tensor.dim() > MAX_RANK:
            raise NotRecordable(
                "unsupported_tensor", f"it has {tensor.dim()} axes; the limit is {MAX_RANK}"
            )
        key = key_of(tensor)
        known = self._by_object.get(id(tensor))
        if known is not None and known[1] == key:
            return known[0]
        if len(self.tensors) >= self._most:
            raise NotRecordable("too_many_tensors", f"a tape holds at most {self._most}")
        number = len(self.tensors)
        storage = tensor.untyped_storage()
        place = self._storage(storage)
        self.tensors.append(
            [
                type_name(tensor.dtype),
                device_name(tensor.device),
                [int(size) for size in tensor.shape],
                [int(stride) for stride in tensor.stride()],
                int(tensor.storage_offset()),
                place,
            ]
        )
        self._by_object[id(tensor)] = (number, key)
        self._by_key[key] = number
        self._by_storage.setdefault(storage._cdata, []).append(number)
        self._kept.append((tensor, storage))
        return number

    def _storage(self, storage: Any) -> int:
        """Return the number of a storage. Raises `NotRecordable` for one that has grown."""
        number = self._storage_ids.setdefault(storage._cdata, len(self.storages))
        size = int(storage.nbytes())
        if number == len(self.storages):
            self.storages.append(size)
        elif size > self.storages[number]:
            detail = (
                f"it resizes memory of {self.storages[number]} bytes to {size}: allocate the "
                "tensor (or the one passed as `out`) with its final size"
            )
            raise NotRecordable("unsupported_tensor", detail)
        return number


def key_of(tensor: Any) -> _Key:
    """Return the storage, dtype and geometry of a tensor, which identify it while it is alive."""
    return (
        tensor.untyped_storage()._cdata,
        tensor.dtype,
        tuple(tensor.shape),
        tensor.stride(),
        tensor.storage_offset(),
        tensor.is_conj(),
        tensor.is_neg(),
    )


def type_name(dtype: torch.dtype) -> str:
    """Return Triton's name of a dtype. Raises `NotRecordable` for one that a tape cannot hold."""
    name = TRITON_NAMES.get(str(dtype).removeprefix("torch."))
    if name is None:
        raise NotRecordable("unsupported_tensor", f"its dtype is {dtype}")
    return name


def device_name(device: torch.device) -> str:
    """Return "cuda" or "cpu". Raises `NotRecordable` for every other device."""
    if device.type not in ("cuda", "cpu") or (device.type == "cuda" and device.index):
        raise NotRecordable("other_device", f"it uses {device}")
    return str(device.type)
