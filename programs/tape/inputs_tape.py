"""Cuts a tape down to the ops that make inputs. A candidate's replay gets no more of a reference.

This only reads and writes tapes, and runs nothing.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from programs.tape.overload_effects import (
    drawing_device,
    makes_views,
    tensors_at,
    tensors_made,
    written_tensors,
)
from programs.tape.schema import (
    AtenOp,
    Device,
    GeneratorRef,
    InvalidTape,
    Op,
    Phase,
    Seeding,
    Structure,
    Tape,
    TapeLaunch,
    TensorRef,
    TupleOf,
    Value,
    by_path,
    generators_of,
    tensors_of,
)

MEMBERS = ("init_inputs", "inputs", "inputs2")
"""The fields with a program's arguments: of its constructor, and of both calls."""
_Number = Mapping[int, int]
"""The index of a tensor in the cut tape, by its index in the original."""
_TORCHS: tuple[Device, ...] = ("cpu", "cuda")
"""torch's own generators: an op without a generator argument draws from its device's."""


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
    recorded = json.loads(text)
    return json.dumps(
        {
            "tape": recorded["tape"],
            "torch": recorded["torch"],
            "tensors": [
                [*recorded["tensors"][id_][:-1], storages[tape.tensors[id_].storage]]
                for id_ in used
            ],
            "storages": [tape.storages[storage] for storage in storages],
            "kernels": {},
            "constants": {
                str(number[id_]): recorded["constants"][str(id_)]
                for id_ in tape.constants
                if id_ in number
            },
            "seed": recorded["seed"],
            **{name: _numbered(recorded.get(name, []), number) for name in MEMBERS},
            "params": [],
            "outputs": {"tuple": []},
            "outputs2": {"tuple": []},
            "ops": [_op(op, number) for op in recorded["ops"] if op["phase"] in phases],
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


def _op(op: dict[str, Any], number: _Number) -> dict[str, Any]:
    """Return an ATen op or a seed with renumbered tensors."""
    if "o" not in op:
        return op
    return op | {
        "a": [_value(value, number) for value in op["a"]],
        "k": {name: _value(value, number) for name, value in op.get("k", {}).items()},
        "o": [None if id_ is None else number[id_] for id_ in op["o"]],
    }


def _numbered(structures: list[Any], number: _Number) -> list[Any]:
    return [_value(structure, number) for structure in structures]


def _value(value: Any, number: _Number) -> Any:
    """Return an argument or a structure with renumbered tensors; its only key is its kind."""
    match value:
        case {"t": id_}:
            return {"t": number[id_]}
        case {"list": list(items)}:
            return {"list": _numbered(items, number)}
        case {"tuple": list(items)}:
            return {"tuple": _numbered(items, number)}
        case {"dict": dict(items)}:
            return {"dict": {name: _value(item, number) for name, item in items.items()}}
    return value


def makes_equal_inputs(tape: Tape) -> bool:
    """Return True if a tape makes both calls' inputs from the same numbers by the same ops.

    Raises InvalidTape like `inputs_only`.
    """
    contents = _Contents(tape)
    for op in inputs_only(tape).ops:
        contents.take(op)
    first, second = (contents.given(inputs) for inputs in (tape.inputs, tape.inputs2))
    return first == second and any(tensors_of(structure) for structure in tape.inputs)


class _Contents:
    """The contents of a tape's storages, op by op."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._numbers: dict[object, int] = {}
        self._storages = {
            tape.tensors[id_].storage: self._number("constant", data)
            for id_, data in tape.constants.items()
        }
        self._generators: dict[int | Device, int] = {}
        """The state of each generator that was seeded or drawn from."""
        self._phase: Phase = "init"

    def take(self, op: Op) -> None:
        """Apply the next op."""
        if op.phase != self._phase:  # each phase is seeded again
            for device in _TORCHS:
                self._generators[device] = self._number("phase", op.phase)
            self._phase = op.phase
        match op:
            case Seeding():
                for name in _seeded(op):
                    self._generators[name] = self._number("seed", op.seed)
            case AtenOp() if not makes_views(op):
                self._take_result(op)

    def given(self, inputs: tuple[Structure, ...]) -> dict[str, object]:
        """Return the contents of a call's inputs, by path."""
        return {
            path: self._of(value.id) if isinstance(value, TensorRef) else (type(value), value)
            for path, value in by_path(TupleOf(inputs)).items()
        }

    def _take_result(self, op: AtenOp) -> None:
        device = drawing_device(op, self._tape)
        names = () if device is None else generators_of(op) or (device,)
        stood = tuple([self._generators.get(name, self._number("new", name)) for name in names])
        named = sorted((name, self._value(value)) for name, value in op.kwargs.items())
        made = self._number(op.op, self._value(op.args), tuple(named), stood)
        for name in names:
            self._generators[name] = self._number("behind", made)
        changed = (*written_tensors(op), *(id_ for id_ in op.outputs if id_ is not None))
        for position, id_ in enumerate(changed):
            self._storages[self._tape.tensors[id_].storage] = self._number(made, position)

    def _value(self, value: Value) -> int:
        """Return the number of an argument."""
        match value:
            case TensorRef():
                return self._number(*self._of(value.id))
            case GeneratorRef():
                return self._number("generator")
            case tuple():
                return self._number("items", *map(self._value, value))
        return self._number(type(value), value)

    def _of(self, id_: int) -> tuple[object, ...]:
        meta = self._tape.tensors[id_]
        content = self._storages.get(meta.storage)
        return meta.dtype, meta.shape, meta.strides, meta.offset, content

    def _number(self, *described: object) -> int:
        return self._numbers.setdefault(described, len(self._numbers))


def _seeded(op: Seeding) -> tuple[int | Device, ...]:
    """Return the generators that are seeded."""
    if op.generator is not None:
        return (op.generator,)
    return _TORCHS if op.device is None else (op.device,)
