"""Writes the ops of a program, and returns the tape as JSON at the end.

The program runs in this process and may forge the tape, so the worker checks every tape. A tensor
is found by its Python object, or by its storage and geometry: autograd and `.data` make further
objects of the same tensor, which no op returns.
"""

import base64
import json
import math
from collections.abc import Mapping
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import _disable_current_modes

from programs.recorder.host_copies import HostCopies
from programs.recorder.record_order import NotRecordable, RecordOrder
from programs.recorder.refusals import UserLines
from programs.tape.schema import (
    MAX_CONSTANT_BYTES,
    MAX_GENERATORS,
    MAX_INT,
    MAX_NAME_CHARS,
    MAX_RANK,
    MAX_STRUCTURE_VALUES,
    MIN_INT,
    TRITON_NAMES,
    Phase,
)
from programs.tape.tensor_extents import contiguous_strides

_Key = tuple[Any, ...]
VERSION = 1


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
        numbers = self._by_storage.get(tensor.untyped_storage()._cdata, ())
        return next((number for number in numbers if self.tensors[number][0] == name), None)

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


class TapeWriter:
    """The tape of one recording so far."""

    def __init__(self, order: RecordOrder, lines: UserLines) -> None:
        self.phase: Phase = "init"
        self.tensors = TensorTable(order.max_tensors)
        self.kernels: dict[str, dict[str, Any]] = {}
        self.ops: list[dict[str, Any]] = []
        self.copies = HostCopies()
        self._bounds = order
        self._lines = lines
        self._constants: dict[str, str] = {}
        self._constant_bytes = 0
        self._structure_values = 0
        self._generators: dict[int, Any] = {}  # by address; keeps them, so addresses stay unique

    def write(self, op: dict[str, Any]) -> None:
        """Append an op, with its phase and the user's line."""
        if len(self.ops) >= self._bounds.max_ops:
            raise NotRecordable("too_many_ops", f"a tape holds at most {self._bounds.max_ops}")
        place = self._lines.innermost()
        self.copies.take(op, self.tensors.tensors, place)
        op["phase"] = self.phase
        op["line"] = None if place is None else f"{place[0]}:{place[1]}"
        self.ops.append(op)

    def is_pinned(self, tensor: Any) -> bool:
        """Return True if the memory of a tensor is pinned."""
        known = self.tensors.find(tensor)
        return known is not None and self.copies.is_pinned(self.tensors.tensors[known][-1])

    def number(self, tensor: Any) -> int:
        """Return the number of a tensor that an op takes. Raises `NotRecordable`."""
        known = self.tensors.find(tensor)
        if known is not None:
            return known
        neighbor = self.tensors.beside(tensor)
        if neighbor is not None:
            return self._strided(neighbor, tensor)
        if isinstance(tensor, FakeTensor):
            detail = f"a tensor of shape {tuple(tensor.shape)} is not the result of a recorded op"
            raise NotRecordable("unsupported_tensor", detail)
        return self._constant(tensor)

    def value(self, value: Any) -> Any:
        """Return an argument of an op as JSON."""
        if isinstance(value, torch.Tensor):
            return {"t": self.number(value)}
        if isinstance(value, (list, tuple)):
            return {"list": [self.value(item) for item in value]}
        if isinstance(value, torch.dtype):
            return {"dtype": type_name(value)}
        if isinstance(value, torch.device):
            return {"device": device_name(value)}
        if isinstance(value, torch.layout):
            return {"layout": str(value).removeprefix("torch.")}
        if isinstance(value, torch.memory_format):
            return {"memory_format": str(value).removeprefix("torch.")}
        if isinstance(value, torch._C.Generator):
            return self._generator(value)
        return scalar(value)

    def add_generator(self, generator: Any) -> None:
        """Assign a number to a generator of the program. Raises `NotRecordable` above the limit."""
        if len(self._generators) >= MAX_GENERATORS:
            raise NotRecordable("generator", f"it makes more than {MAX_GENERATORS}")
        self._generators[generator._cdata] = generator

    def program_generator(self, value: Any) -> Any | None:
        """Return the generator of the program that an op takes, None for torch's."""
        return self._generators.get(value._cdata)

    def _generator(self, value: Any) -> dict[str, int]:
        """Return the number of a generator. Found by address, as ops get another Python object."""
        known = list(self._generators)
        if value._cdata not in known:
            raise NotRecordable(
                "random_state", "it passes torch's default generator to an op: leave it out"
            )
        return {"generator": known.index(value._cdata)}

    def structure(self, value: Any) -> Any:
        """Return a program's input or output as JSON. Raises `NotRecordable`."""
        self._structure_values += 1
        if self._structure_values > MAX_STRUCTURE_VALUES:
            detail = f"it takes and returns more than {MAX_STRUCTURE_VALUES} values"
            raise NotRecordable("too_many_tensors", detail)
        if isinstance(value, torch.Tensor):
            return {"t": self.number(value)}
        if isinstance(value, list):
            return {"list": [self.structure(item) for item in value]}
        if isinstance(value, tuple):
            return {"tuple": [self.structure(item) for item in value]}
        if isinstance(value, Mapping):
            return {"dict": {_key(name): self.structure(item) for name, item in value.items()}}
        if isinstance(value, (torch.dtype, torch.device)):
            return str(value)
        try:
            return scalar(value)
        except NotRecordable as refusal:
            if refusal.reason == "value_dependent":
                raise
            detail = f"{type(value).__name__} is neither a tensor nor a plain value"
            raise NotRecordable("bad_inputs", detail) from None

    def finished(self, **members: Any) -> bytes:
        """Return the tape as JSON; `members` are those of `record_entry`."""
        tape = {
            "tape": VERSION,
            "torch": torch.__version__,
            "tensors": self.tensors.tensors,
            "storages": self.tensors.storages,
            "kernels": self.kernels,
            "constants": self._constants,
            "seed": self._bounds.seed,
            **members,
            "ops": self.ops,
        }
        text = json.dumps(tape, separators=(",", ":"), allow_nan=False).encode()
        most = self._bounds.max_tape_bytes
        if len(text) > most:
            detail = f"it has {len(text)} bytes; the limit is {most}"
            raise NotRecordable("too_many_bytes", detail)
        return text

    def _strided(self, neighbor: int, tensor: Any) -> int:
        """Write an op that makes a tensor from another one in the same storage."""
        number = self.tensors.add(tensor)
        sizes = {"list": [int(size) for size in tensor.shape]}
        strides = {"list": [int(stride) for stride in tensor.stride()]}
        args = [{"t": neighbor}, sizes, strides, int(tensor.storage_offset())]
        self.write({"op": "aten.as_strided.default", "a": args, "o": [number]})
        return number

    def _constant(self, tensor: Any) -> int:
        """Write a real tensor with its values, which Python made from a list or an array."""
        with _disable_current_modes():
            device_name(tensor.device)
            whole = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
            # not `is_contiguous()`, as torch ignores the strides of axes with one element
            if tensor.stride() != contiguous_strides(tensor.shape) or tensor.storage_offset():
                self._keep(whole)
            else:
                self._keep(tensor)
        known = self.tensors.find(tensor)
        return self._strided(self.tensors.find(whole) or 0, tensor) if known is None else known

    def _keep(self, tensor: Any) -> None:
        size = tensor.numel() * tensor.element_size()
        self._constant_bytes += size
        if self._constant_bytes > MAX_CONSTANT_BYTES:
            detail = f"together they exceed {MAX_CONSTANT_BYTES} bytes"
            raise NotRecordable("large_constant", detail)
        plain = tensor.detach().resolve_conj().resolve_neg().reshape(-1)
        data = plain.view(torch.uint8).numpy().tobytes() if size else b""
        self._constants[str(self.tensors.add(tensor))] = base64.b64encode(data).decode()


def _key(name: Any) -> str:
    """Return a key of a dict that a program takes or returns. Raises `NotRecordable`."""
    text = str(name)
    if len(text) > MAX_NAME_CHARS:
        detail = f"a dict has a key of {len(text)} characters; the limit is {MAX_NAME_CHARS}"
        raise NotRecordable("bad_inputs", detail)
    return text


def scalar(value: Any) -> Any:
    """Return a plain value as JSON. Raises `NotRecordable` for any other."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return _integer(int(value))
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": _non_finite(value)}
    if isinstance(value, complex):
        return {"complex": [scalar(value.real), scalar(value.imag)]}
    if hasattr(value, "dtype") and hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        return scalar(value.item())  # a NumPy scalar
    if type(value).__name__ == "OpaqueValue":
        what = "a time" if value.reason == "clock" else "the value of a tensor"
        raise NotRecordable(value.reason, f"it passes {what} to an op or returns it")
    raise NotRecordable("unsupported_argument", f"a value of type {type(value).__name__}")


def _integer(value: int) -> int:
    if not MIN_INT <= value <= MAX_INT:
        bits = value.bit_length()
        detail = f"an integer has {bits} bits; the limit is 64"
        raise NotRecordable("unsupported_argument", detail)
    return value


def _non_finite(value: float) -> str:
    if math.isnan(value):
        return "nan"
    return "inf" if value > 0 else "-inf"
