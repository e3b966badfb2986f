"""Finds the op of `init` that gave a parameter its values, behind the copies that moved it.

What a program prepares from a parameter is made of these values, wherever it reads them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from programs.tape.overload_effects import makes_views, name_of, tensors_at, written_tensors
from programs.tape.schema import AtenOp, Tape, TapeLaunch, tensors_of

START = -1
"""Before the first op."""
_COPIES = frozenset({"_to_copy", "clone", "copy_", "lift_fresh", "lift_fresh_copy", "detach_copy"})


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
        index = max((one for one in writes.get(storage, ()) if one < before), default=START)
        if index == START:
            return ParameterOrigin(START, id_)
        op = tape.ops[index]
        source = _copied(op)
        if source is None or tape.tensors[source].shape != shape:
            alike = (one for one in _written(op) if tape.tensors[one].storage == storage)
            whole = (one for one in alike if tape.tensors[one].shape == shape)
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
