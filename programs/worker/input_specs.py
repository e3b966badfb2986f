"""What a candidate learns of its inputs: shapes, memory, plain values, never a tensor's value."""

import math
from typing import Any

from programs.tape.schema import DictOf, ListOf, Structure, Tape, TensorRef, TupleOf


def specs(tape: Tape, structures: tuple[Structure, ...]) -> list[Any]:
    """Return structures of `tape` as a record order has them: specs in the place of tensors.

    Views of one storage are so in the order, too: where a tensor lies in memory decides what its
    kernels are compiled for, and a change of one shows in the others.
    """
    numbers: dict[int, int] = {}
    return [_spec(tape, structure, numbers) for structure in structures]


def _spec(tape: Tape, structure: Structure, numbers: dict[int, int]) -> Any:
    """Return one spec; `numbers` are the storages so far, so that equal calls have equal specs."""
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
