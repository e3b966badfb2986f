"""Widens the calls of a tape to fp64, so that a replay shows how far rounding moves its outputs.

Phases before the calls stay as they are: random numbers of another dtype would be other numbers.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from programs.tape.overload_effects import tensors_at
from programs.tape.schema import (
    AtenOp,
    DtypeName,
    Op,
    Tape,
    TapeLaunch,
    TensorMeta,
    Value,
    tensors_of,
)
from programs.tape.tape_dtypes import ELEMENT_BYTES

WIDE_DTYPES: Mapping[str, str] = {
    **dict.fromkeys(("fp32", "fp16", "bf16", "fp8e4nv", "fp8e4b8", "fp8e5", "fp8e5b16"), "fp64"),
    "complex64": "complex128",
}
_CONVERTING = frozenset({"aten._softmax.default", "aten._log_softmax.default"})
"""Overloads whose third argument says that halves become fp32."""


class NotWidened(Exception):
    """The calls cannot run in fp64."""


def used_in_calls(tape: Tape) -> Iterable[int]:
    """Return the tensors that the calls use or return."""
    ops = (op for op in tape.ops if op.phase in ("run", "run2"))
    found = dict.fromkeys(id_ for op in ops for id_ in tensors_at(op))
    return found | dict.fromkeys((*tensors_of(tape.outputs), *tensors_of(tape.outputs2)))


def widened(tape: Tape) -> Tape:
    """Return the tape with its calls in fp64, and without constants.

    Raises `NotWidened` for calls that launch kernels, or read floats as another dtype.
    """
    kinds: dict[int, str] = {}
    for id_ in used_in_calls(tape):
        meta = tape.tensors[id_]
        other = kinds.setdefault(meta.storage, meta.dtype)
        if other != meta.dtype and {other, meta.dtype} & WIDE_DTYPES.keys():
            raise NotWidened(f"memory holds both {other} and {meta.dtype}")
    sizes = [_size(size, kinds.get(storage)) for storage, size in enumerate(tape.storages)]
    tensors = [_wide_meta(meta, kinds) for meta in tape.tensors]
    ops = tuple([_wide_op(op) for op in tape.ops])
    return replace(tape, tensors=tuple(tensors), storages=tuple(sizes), ops=ops, constants={})


def _size(size_bytes: int, dtype: str | None) -> int:
    if dtype is None or dtype not in WIDE_DTYPES:
        return size_bytes
    return size_bytes // ELEMENT_BYTES[dtype] * ELEMENT_BYTES[WIDE_DTYPES[dtype]]


def _wide_meta(meta: TensorMeta, kinds: Mapping[int, str]) -> TensorMeta:
    if meta.storage not in kinds:
        return meta
    return replace(meta, dtype=WIDE_DTYPES.get(meta.dtype, meta.dtype))


def _wide_op(op: Op) -> Op:
    if op.phase not in ("run", "run2"):
        return op
    if isinstance(op, TapeLaunch):
        raise NotWidened("it launches kernels")
    if not isinstance(op, AtenOp):
        return op
    args = [_wide(value) for value in op.args]
    if op.op in _CONVERTING and len(args) > 2:
        args[2] = False
    named = {name: _wide(value) for name, value in op.kwargs.items()}
    return replace(op, args=tuple(args), kwargs=named)


def _wide(value: Value) -> Value:
    match value:
        case DtypeName():
            return DtypeName(WIDE_DTYPES.get(value.name, value.name))
        case tuple():
            return tuple([_wide(item) for item in value])
    return value
