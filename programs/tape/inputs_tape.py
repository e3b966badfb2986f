"""Cuts a tape down to the ops that make inputs. A candidate's replay gets no more of a reference.

This only reads and writes tapes, and runs nothing.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from programs.tape.invalid_tape import InvalidTape
from programs.tape.overload_effects import tensors_at, tensors_made
from programs.tape.schema import (
    Op,
    Phase,
    Tape,
    TapeLaunch,
    TensorRef,
    TupleOf,
    generators_of,
    tensors_of,
)

MEMBERS = ("init_inputs", "inputs", "inputs2")
"""The fields with a program's arguments: of its constructor, and of both calls."""
_Number = Mapping[int, int]
"""The index of a tensor in the cut tape, by its index in the original."""


def inputs_only(tape: Tape) -> Tape:
    """Return a tape that makes the inputs of `tape`, and does nothing else.

    Raises `InvalidTape` if it does not make all of its inputs, or makes some with kernels.
    """
    ops = _ops(tape, _phases(tape))
    if any(isinstance(op, TapeLaunch) for op in ops):
        raise InvalidTape("/inputs", "inputs are made with kernels: make them with torch only")
    outputs = TupleOf(tuple(TensorRef(id_) for id_ in _inputs(tape)))
    return replace(tape, ops=tuple(ops), outputs=outputs, outputs2=TupleOf(()))


def inputs_text(tape: Tape, text: bytes) -> bytes:
    """Return the JSON of `inputs_only` of a tape, without anything else from it.

    `text` is the JSON that the tape was read from. Raises InvalidTape like `inputs_only`.
    """
    phases = _phases(tape)
    kept = inputs_only(tape)
    used = sorted({*_inputs(tape), *(id_ for op in kept.ops for id_ in tensors_at(op))})
    number = {id_: index for index, id_ in enumerate(used)}
    stored = sorted({tape.tensors[id_].storage for id_ in used})
    storages = {storage: index for index, storage in enumerate(stored)}
    said = json.loads(text)
    return json.dumps(
        {
            "tape": said["tape"],
            "torch": said["torch"],
            "tensors": [
                [*said["tensors"][id_][:-1], storages[tape.tensors[id_].storage]] for id_ in used
            ],
            "storages": [tape.storages[storage] for storage in storages],
            "kernels": {},
            "constants": {
                str(number[id_]): said["constants"][str(id_)]
                for id_ in tape.constants
                if id_ in number
            },
            "seed": said["seed"],
            **{name: _numbered(said.get(name, []), number) for name in MEMBERS},
            "params": [],
            "outputs": {"tuple": []},
            "outputs2": {"tuple": []},
            "ops": [_op(op, number) for op in said["ops"] if op["phase"] in phases],
        },
        separators=(",", ":"),
    ).encode()


def _phases(tape: Tape) -> Collection[Phase]:
    """Return the phases whose ops make the inputs, with `init` if they depend on it."""
    alone: tuple[Phase, ...] = ("inputs",)
    ops = _ops(tape, alone)
    needed = {*_inputs(tape), *(id_ for op in ops for id_ in tensors_at(op))}
    both: Collection[Phase] = ("init", "inputs")
    everything = _ops(tape, both)
    drawn_before = _generators(op for op in everything if op.phase == "init")
    made_alone = needed <= tensors_made(ops) | tape.constants.keys()
    if made_alone and drawn_before.isdisjoint(_generators(ops)):
        return alone
    if not needed <= tensors_made(everything) | tape.constants.keys():
        raise InvalidTape("/inputs", "some of the inputs are made by no op")
    return both


def _ops(tape: Tape, phases: Collection[Phase]) -> list[Op]:
    return [op for op in tape.ops if op.phase in phases]


def _generators(ops: Iterable[Op]) -> frozenset[int]:
    return frozenset(number for op in ops for number in generators_of(op))


def _inputs(tape: Tape) -> Iterator[int]:
    for member in MEMBERS:
        yield from (id_ for structure in getattr(tape, member) for id_ in tensors_of(structure))


def _op(said: dict[str, Any], number: _Number) -> dict[str, Any]:
    """Return an ATen op or a seed with renumbered tensors."""
    if "o" not in said:
        return said
    return said | {
        "a": [_value(value, number) for value in said["a"]],
        "k": {name: _value(value, number) for name, value in said.get("k", {}).items()},
        "o": [None if id_ is None else number[id_] for id_ in said["o"]],
    }


def _numbered(structures: list[Any], number: _Number) -> list[Any]:
    return [_value(structure, number) for structure in structures]


def _value(said: Any, number: _Number) -> Any:
    """Return an argument or a structure with renumbered tensors; its only key is its kind."""
    match said:
        case {"t": id_}:
            return {"t": number[id_]}
        case {"list": list(items)}:
            return {"list": _numbered(items, number)}
        case {"tuple": list(items)}:
            return {"tuple": _numbered(items, number)}
        case {"dict": dict(items)}:
            return {"dict": {name: _value(item, number) for name, item in items.items()}}
    return said
