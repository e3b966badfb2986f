"""Finds where a program rounds floats to a narrower dtype than its reference has anywhere.

If kernels get halves, they did not lose the precision. The host lost it with a cast, or a buffer
between two kernels did with its dtype.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from launch.checks.precision_measure import MANTISSA_BITS
from programs.tape.flow import Flow
from programs.tape.schema import ProgramLine, Tape, tensors_of


@dataclass(frozen=True, slots=True)
class RoundedFloats:
    """A rounding to narrower floats at one line."""

    message: str
    place: ProgramLine | None


def rounded_floats(tape: Tape, flow: Flow, reference: Tape) -> Iterator[RoundedFloats]:
    """Yield the ops that round if outputs depend on them and are wider again."""
    floats = [one.dtype for one in reference.tensors if one.dtype in MANTISSA_BITS]
    least = min((MANTISSA_BITS[dtype] for dtype in floats), default=0)
    bits = _bits(tape)
    returned = [tape.tensors[id_].storage for id_ in tensors_of(tape.outputs)]
    widest = max((bits.get(storage, 0) for storage in returned), default=0)
    for index, (op, access) in enumerate(zip(tape.ops, flow.accesses, strict=True)):
        if index not in flow.live or op.phase not in ("init", "run"):
            continue
        read = max((bits.get(storage, 0) for storage in access.reads), default=0)
        made = min((bits[storage] for storage in access.writes if storage in bits), default=read)
        if made < least and made < read and made < widest:
            message = (
                f"floats are rounded to {made} bits of mantissa here, and outputs depend on them; "
                f"the reference keeps at least {least} bits: use its dtypes"
            )
            yield RoundedFloats(message, op.place)


def _bits(tape: Tape) -> dict[int, int]:
    """Return the mantissa bits of each storage with floats: of the widest dtype in it."""
    found: dict[int, int] = {}
    for tensor in tape.tensors:
        if tensor.dtype in MANTISSA_BITS:
            found[tensor.storage] = max(found.get(tensor.storage, 0), MANTISSA_BITS[tensor.dtype])
    return found
