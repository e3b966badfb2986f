"""The data flow of a tape: forwards from its inputs, and backwards from its outputs.

Flow is tracked per storage, since a write to a view changes all tensors that share its memory. A
kernel's write is assumed to leave some earlier contents in place, as nothing is run to find out.
The exception is what a first call left: the ops show if the second call writes less.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from programs.tape.kernel_effects import KernelEffects
from programs.tape.overload_effects import (
    drawing_device,
    kind_of,
    makes_views,
    overwritten_tensors,
    read_tensors,
    written_tensors,
)
from programs.tape.schema import (
    AtenOp,
    LaunchValue,
    Op,
    ReinterpretedArgument,
    Structure,
    Tape,
    TapeDescriptor,
    TapeLaunch,
    TensorRef,
    tensors_of,
)
from programs.tape.tensor_extents import covers_storage

KernelsEffects = Mapping[str, KernelEffects | None]
"""Effects by the kernel's name; None, or no entry, if it may read and write all arguments."""

UNWRITTEN = 1
"""Allocated memory that was never written."""
LAUNCHED = 2
"""A value that depends on what a launch wrote."""
PREPARED = 4
"""A value from before the first call: parameters, buffers, results of `__init__`."""
DRAWN_ON_CUDA = 8
"""A random number that the program drew on CUDA; draws for inputs do not count."""
_FIRST_INPUT = 16


@dataclass(frozen=True, slots=True)
class OpAccess:
    """The storages that an op reads, writes, and allocates or fully overwrites (`renews`)."""

    reads: frozenset[int]
    writes: frozenset[int]
    renews: frozenset[int]


@dataclass(frozen=True, slots=True)
class Flow:
    """The dependences of a tape. Sources are sets of bits: those above, and one for each input."""

    accesses: tuple[OpAccess, ...]
    live: frozenset[int]
    """Indices of ops on which the returned tensors depend."""
    op_sources: tuple[int, ...]
    """The sources of each op's results."""
    output_sources: tuple[int, ...]
    """The sources of each tensor of `outputs`, in order."""
    output2_sources: tuple[int, ...]
    input_bits: Mapping[int, int]
    """The bit of each input of the first or second call, by storage."""
    state: frozenset[int]
    """Storages that outlive a call: those of parameters, buffers and inputs."""

    def depends_on_inputs(self, sources: int) -> bool:
        """Return True if these sources include an input of any call."""
        return sources >= _FIRST_INPUT

    def is_dead(self, index: int) -> bool:
        """Return True if the writes of an op are neither returned nor left in state."""
        return index not in self.live and self.accesses[index].writes.isdisjoint(self.state)


def flow_of(tape: Tape, effects: KernelsEffects) -> Flow:
    """Return the flow of a tape that `read_tape` has read."""
    accesses = tuple([access_of(op, tape, effects) for op in tape.ops])
    forward = _Forward(tape)
    op_sources = []
    output_sources: tuple[int, ...] | None = None
    for op, access in zip(tape.ops, accesses, strict=True):
        if op.phase == "run2" and output_sources is None:
            output_sources = forward.of(tape.outputs)
        op_sources.append(forward.take(op, access))
    return Flow(
        accesses,
        _live(tape, accesses),
        tuple(op_sources),
        output_sources if output_sources is not None else forward.of(tape.outputs),
        forward.of(tape.outputs2),
        forward.input_bits,
        _state(tape),
    )


def access_of(op: Op, tape: Tape, effects: KernelsEffects) -> OpAccess:
    """Return the storages that one op of a tape accesses."""
    nothing: frozenset[int] = frozenset()
    if isinstance(op, AtenOp):
        written = _storages(tape, written_tensors(op))
        made = _storages(tape, [id_ for id_ in op.outputs if id_ is not None])
        if makes_views(op):
            return OpAccess(nothing, nothing, nothing)
        covered = [
            id_
            for id_ in overwritten_tensors(op)
            if covers_storage(tape.tensors[id_], tape.storages[tape.tensors[id_].storage])
        ]
        renewed = (made - written) | _storages(tape, covered)
        return OpAccess(_storages(tape, read_tensors(op)), written | made, renewed)
    if isinstance(op, TapeLaunch):
        if 0 in op.grid:
            return OpAccess(nothing, nothing, nothing)
        known = effects.get(op.kernel)
        reads, writes = (known.reads, known.writes) if known else (op.args, op.args)
        return OpAccess(_given(tape, op, reads), _given(tape, op, writes), nothing)
    return OpAccess(nothing, nothing, nothing)


def _launch_key(launch: TapeLaunch) -> object:
    """Return all of a launch's arguments except tensors: numbers and constants."""
    args, constexprs = (
        tuple((name, _number(value)) for name, value in sorted(values.items()))
        for values in (launch.args, launch.constexprs)
    )
    return launch.kernel, args, constexprs


def _number(value: LaunchValue) -> object:
    match value:
        case TensorRef() | ReinterpretedArgument():
            return None
        case TapeDescriptor():
            return value.shape, value.strides, value.block_shape
        case tuple():
            return tuple(map(_number, value))
    return type(value), value


def _given(tape: Tape, launch: TapeLaunch, names: Iterable[str]) -> frozenset[int]:
    ids = [id_ for name in names for id_ in tensors_of(launch.args.get(name))]
    return _storages(tape, ids)


def _storages(tape: Tape, ids: Iterable[int]) -> frozenset[int]:
    return frozenset([tape.tensors[id_].storage for id_ in ids])


class _Forward:
    """The sources of each storage, op by op.

    What the first call leaves in parameters and buffers is a module's state, like running
    statistics: for the second call it counts as prepared. What it leaves in other memory is
    forgotten when the second call writes there without having read it, since the second call
    either does the same work or is flagged for less. For a launch, this needs the same
    non-tensor arguments as in the first call: with `n = 0` it may write nothing.
    """

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._sources: dict[int, int] = {}
        self._begun = False
        self._begun_again = False
        self.input_bits: dict[int, int] = {}
        for structure in (*tape.inputs, *tape.inputs2):
            for id_ in tensors_of(structure):
                storage = tape.tensors[id_].storage
                self.input_bits.setdefault(storage, _FIRST_INPUT << len(self.input_bits))
        inputs = [id_ for structure in tape.inputs2 for id_ in tensors_of(structure)]
        new = sum(self.input_bits[storage] for storage in _storages(tape, inputs))
        self._of_first_call = sum(self.input_bits.values()) & ~new
        self._launches: dict[object, int] = {}
        """A number for each set of non-tensor arguments of launches."""
        self._written_by: dict[int, set[int]] = {}
        """The launches of the first call that write each storage."""

    def take(self, op: Op, access: OpAccess) -> int:
        """Apply the next op, and return the sources of its results."""
        if op.phase in ("run", "run2") and not self._begun:
            self._begun = True
            for storage in (*self._sources, *self._prepared()):
                self._sources[storage] = self._sources.get(storage, 0) | PREPARED
            self._sources.update(self.input_bits)
        if op.phase == "run2" and not self._begun_again:
            self._begun_again = True
            ids = [id_ for _, id_ in self._tape.params]
            self._sources.update(dict.fromkeys(_storages(self._tape, ids), PREPARED))
        sources = 0
        for storage in access.reads:
            sources |= self._sources.get(storage, 0)
        sources |= LAUNCHED if isinstance(op, TapeLaunch) else 0
        if op.phase != "inputs" and drawing_device(op, self._tape) == "cuda":
            sources |= DRAWN_ON_CUDA
        empty = isinstance(op, AtenOp) and kind_of(op) == "uninitialized"
        launch = None
        if isinstance(op, TapeLaunch):
            launch = self._launches.setdefault(_launch_key(op), len(self._launches))
        for storage in access.writes:
            before = 0 if storage in access.renews else self._sources.get(storage, 0)
            if storage not in access.reads and self._is_written_anew(op, launch, storage):
                before &= ~self._of_first_call
            self._sources[storage] = UNWRITTEN if empty else (before & ~UNWRITTEN) | sources
        return sources

    def _is_written_anew(self, op: Op, launch: int | None, storage: int) -> bool:
        """Return True if an op of the second call writes a storage as one of the first did."""
        if launch is None:
            return op.phase == "run2"
        known = self._written_by.setdefault(storage, set())
        if op.phase == "run":
            known.add(launch)
        return op.phase == "run2" and launch in known

    def of(self, structure: Structure) -> tuple[int, ...]:
        """Return the current sources of each tensor of a structure."""
        if not self._begun:
            self._sources.update(self.input_bits)
        storages = [self._tape.tensors[id_].storage for id_ in tensors_of(structure)]
        return tuple([self._sources.get(storage, 0) for storage in storages])

    def _prepared(self) -> Iterable[int]:
        ids = [*self._tape.constants, *[id_ for _, id_ in self._tape.params]]
        ids.extend(id_ for structure in self._tape.init_inputs for id_ in tensors_of(structure))
        return _storages(self._tape, ids)


def _live(tape: Tape, accesses: tuple[OpAccess, ...]) -> frozenset[int]:
    """Return the ops on which the outputs of either call depend."""
    wanted = set(_storages(tape, tensors_of(tape.outputs2)))
    is_first_call = False
    live = set()
    for index in reversed(range(len(tape.ops))):
        if tape.ops[index].phase != "run2" and not is_first_call:
            is_first_call = True
            wanted |= _storages(tape, tensors_of(tape.outputs))
        access = accesses[index]
        if not wanted.isdisjoint(access.writes):
            live.add(index)
            wanted -= access.renews
            wanted |= access.reads
    return frozenset(live)


def _state(tape: Tape) -> frozenset[int]:
    ids = [id_ for _, id_ in tape.params]
    ids.extend(id_ for item in (*tape.inputs, *tape.inputs2) for id_ in tensors_of(item))
    return _storages(tape, ids)
