"""Checks if both calls of a program get equal inputs, so that a cached result goes unnoticed.

Each content of memory gets a number by the way it is made, so equal contents have equal numbers.
This only reads tapes, and runs nothing.
"""

from programs.tape.inputs_tape import inputs_only
from programs.tape.output_paths import by_path
from programs.tape.overload_effects import drawing_device, makes_views, written_tensors
from programs.tape.schema import (
    AtenOp,
    Device,
    GeneratorRef,
    Op,
    Phase,
    Seeding,
    Structure,
    Tape,
    TensorRef,
    TupleOf,
    Value,
    generators_of,
    tensors_of,
)

_TORCHS: tuple[Device, ...] = ("cpu", "cuda")
"""torch's own generators: an op without a generator argument draws from its device's."""


def makes_equal_inputs(tape: Tape) -> bool:
    """Return True if a tape makes both calls' inputs from the same numbers by the same ops.

    Raises InvalidTape like `inputs_only`.
    """
    contents = _Contents(tape)
    for op in inputs_only(tape).ops:
        contents.take(op)
    first, second = (contents.given(one) for one in (tape.inputs, tape.inputs2))
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
        if op.phase != self._phase:  # each phase is seeded anew
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
        stood = tuple([self._generators.get(one, self._number("new", one)) for one in names])
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
