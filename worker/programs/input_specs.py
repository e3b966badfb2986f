"""What a candidate is told of its inputs: their shapes and plain values, never a tensor's value."""

import math
from typing import Any

from programs.tape.schema import DictOf, ListOf, Structure, Tape, TensorRef, TupleOf


def specs(tape: Tape, structures: tuple[Structure, ...]) -> list[Any]:
    """Return structures of `tape` as a record order has them: specs in the place of tensors."""
    return [_spec(tape, structure) for structure in structures]


def _spec(tape: Tape, structure: Structure) -> Any:
    match structure:
        case TensorRef():
            tensor = tape.tensors[structure.id]
            return {
                "tensor": {
                    "dtype": tensor.dtype,
                    "shape": list(tensor.shape),
                    "strides": list(tensor.strides),
                    "device": tensor.device,
                }
            }
        case ListOf():
            return {"list": [_spec(tape, item) for item in structure.items]}
        case TupleOf():
            return {"tuple": [_spec(tape, item) for item in structure.items]}
        case DictOf():
            return {"dict": {name: _spec(tape, item) for name, item in structure.items}}
        case complex():
            return {"complex": [_number(structure.real), _number(structure.imag)]}
        case float():
            return _number(structure)
    return structure


def _number(value: float) -> Any:
    return value if math.isfinite(value) else {"float": str(value)}
