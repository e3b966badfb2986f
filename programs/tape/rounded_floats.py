"""Finds where a program rounds floats to a narrower dtype than its reference has anywhere.

If kernels get halves, they did not lose the precision. The host lost it with a cast, or a buffer
between two kernels did with its dtype.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from launch.checks.precision_measure import MANTISSA_BITS
from programs.tape.flow import Flow
from programs.tape.overload_effects import tensors_at, written_tensors
from programs.tape.schema import AtenOp, Op, ProgramLine, Tape, tensors_of


@dataclass(frozen=True, slots=True)
class RoundedFloats:
    """A rounding to narrower floats at one line."""

    message: str
    place: ProgramLine | None


def rounded_floats(tape: Tape, flow: Flow, reference: Tape) -> Iterator[RoundedFloats]:
    """Yield the ops that round if outputs depend on them and are wider again."""
    floats = [one.dtype for one in reference.tensors if one.dtype in MANTISSA_BITS]
    least = min((MANTISSA_BITS[dtype] for dtype in floats), default=0)
    widest = max(_bits(tape, tensors_of(tape.outputs)), default=0)
    for index, (op, access) in enumerate(zip(tape.ops, flow.accesses, strict=True)):
        if index not in flow.live or op.phase not in ("init", "run"):
            continue
        read = max(_bits(tape, _used(op, access.reads, tape)), default=0)
        made = min(_bits(tape, _written(op, access.writes, tape)), default=read)
        if made < least and made < read and made < widest:
            message = (
                f"floats are rounded to {made} bits of mantissa here, and outputs depend on them; "
                f"the reference keeps at least {least} bits: use its dtypes"
            )
            yield RoundedFloats(message, op.place)


def _used(op: Op, storages: Collection[int], tape: Tape) -> Iterable[int]:
    """Return the tensors by which an op uses these storages."""
    return [id_ for id_ in tensors_at(op) if tape.tensors[id_].storage in storages]


def _written(op: Op, storages: Collection[int], tape: Tape) -> Iterable[int]:
    """Return the tensors by which an op writes to these storages."""
    if not isinstance(op, AtenOp):
        return _used(op, storages, tape)
    made = (*written_tensors(op), *(id_ for id_ in op.outputs if id_ is not None))
    return [id_ for id_ in made if tape.tensors[id_].storage in storages]


def _bits(tape: Tape, ids: Iterable[int]) -> list[int]:
    """Return the mantissa bits of the tensors with floats, whatever else their memory holds."""
    dtypes = [tape.tensors[id_].dtype for id_ in ids]
    return [MANTISSA_BITS[dtype] for dtype in dtypes if dtype in MANTISSA_BITS]
