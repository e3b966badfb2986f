"""Wider floats for a tape, and where its parameters are made: for replays with other values."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from programs.tape.overload_effects import makes_views, name_of, tensors_at, written_tensors
from programs.tape.schema import (
    ELEMENT_BYTES,
    AtenOp,
    DtypeName,
    Op,
    Tape,
    TapeLaunch,
    TensorMeta,
    Value,
    tensors_of,
)

WIDE_DTYPES: Mapping[str, str] = {
    **dict.fromkeys(("fp32", "fp16", "bf16", "fp8e4nv", "fp8e4b8", "fp8e5", "fp8e5b16"), "fp64"),
    "complex64": "complex128",
}
_CONVERTING = frozenset({"aten._softmax.default", "aten._log_softmax.default"})
"""Overloads whose third argument turns halves into fp32."""
START = -1
"""Before the first op."""
_COPIES = frozenset({"_to_copy", "clone", "copy_", "lift_fresh", "lift_fresh_copy", "detach_copy"})


class NotWidened(Exception):
    """The calls cannot run in fp64."""


def used_in_calls(tape: Tape) -> Iterable[int]:
    """Return the tensors that the calls use or return."""
    ops = (op for op in tape.ops if op.phase in ("run", "run2"))
    used = dict.fromkeys(id_ for op in ops for id_ in tensors_at(op))
    return used | dict.fromkeys((*tensors_of(tape.outputs), *tensors_of(tape.outputs2)))


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


@dataclass(frozen=True, slots=True)
class ParameterOrigin:
    """The op behind which a tensor has a parameter's values, or `START`."""

    op: int
    tensor: int


def origins_of(tape: Tape, parameters: Mapping[str, int]) -> dict[str, ParameterOrigin]:
    """Return the origin of each of these parameters, by name."""
    writes: dict[int, list[int]] = {}
    for index, op in enumerate(tape.ops):
        if op.phase != "init":
            break
        for id_ in _written(op):
            writes.setdefault(tape.tensors[id_].storage, []).append(index)
    return {name: _origin(tape, id_, writes) for name, id_ in parameters.items()}


def _origin(tape: Tape, id_: int, writes: Mapping[int, list[int]]) -> ParameterOrigin:
    before = len(tape.ops)
    shape = tape.tensors[id_].shape
    while True:
        storage = tape.tensors[id_].storage
        index = max((write for write in writes.get(storage, ()) if write < before), default=START)
        if index == START:
            return ParameterOrigin(START, id_)
        op = tape.ops[index]
        source = _copied(op)
        if source is None or tape.tensors[source].shape != shape:
            alike = (
                written for written in _written(op) if tape.tensors[written].storage == storage
            )
            whole = (written for written in alike if tape.tensors[written].shape == shape)
            return ParameterOrigin(index, next(whole, id_))
        id_, before = source, index


def _written(op: object) -> tuple[int, ...]:
    if isinstance(op, AtenOp) and not makes_views(op):
        return (*[id_ for id_ in op.outputs if id_ is not None], *written_tensors(op))
    return tuple(tensors_at(op)) if isinstance(op, TapeLaunch) else ()


def _copied(op: object) -> int | None:
    """Return the tensor that an op copies whole, None if it does something else."""
    if not isinstance(op, AtenOp) or name_of(op) not in _COPIES:
        return None
    position = 1 if name_of(op) == "copy_" else 0
    return next(iter(tensors_of(op.args[position])), None) if len(op.args) > position else None
