"""Specs of inputs for a candidate: shapes, layout and plain values, but no tensor's values."""

import math
from typing import Any

from programs.tape.schema import DictOf, ListOf, Structure, Tape, TensorRef, TupleOf


def specs(tape: Tape, structures: tuple[Structure, ...]) -> list[Any]:
    """Return structures of `tape` for a record order, with tensors replaced by specs.

    Views keep their common storage: a tensor's offset decides how its kernels are compiled, and a
    change of one view shows in the others.
    """
    numbers: dict[int, int] = {}
    return [_spec(tape, structure, numbers) for structure in structures]


def _spec(tape: Tape, structure: Structure, numbers: dict[int, int]) -> Any:
    """Return one spec. `numbers` counts storages from 0, so that equal calls have equal specs."""
    match structure:
        case TensorRef():
            tensor = tape.tensors[structure.id]
            return {
                "tensor": {
                    "dtype": tensor.dtype,
                    "shape": list(tensor.shape),
                    "strides": list(tensor.strides),
                    "offset": tensor.offset,
                    "storage": numbers.setdefault(tensor.storage, len(numbers)),
                    "storage_bytes": tape.storages[tensor.storage],
                    "device": tensor.device,
                }
            }
        case ListOf():
            return {"list": [_spec(tape, item, numbers) for item in structure.items]}
        case TupleOf():
            return {"tuple": [_spec(tape, item, numbers) for item in structure.items]}
        case DictOf():
            return {"dict": {name: _spec(tape, item, numbers) for name, item in structure.items}}
        case complex():
            return {"complex": [_number(structure.real), _number(structure.imag)]}
        case float():
            return _number(structure)
    return structure


def _number(value: float) -> Any:
    return value if math.isfinite(value) else {"float": str(value)}
