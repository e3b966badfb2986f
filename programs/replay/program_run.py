"""Runs a tape on one device, phase by phase: ops by ATen, launches by the device.

All tensors are on that device, whatever the tape contains. Each phase starts from a seed, so that a
program and its reference draw the same numbers. The phase of inputs has another seed, since a
program could otherwise draw its inputs in advance. torch has a default generator for each kind of
device; a replay uses one for both kinds of a tape, and swaps their states.

Inputs, parameters and buffers that a call changes in place are results, too. Digests show the
changes, and only the contents of changed ones are kept, after their last use. On a GPU, digests
also cover all other live memory, which a kernel could reach behind an address that it loads.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

import torch

from launch.checks.kernel_run import RunOptions
from launch.messages import Finding
from programs.replay.live_tensors import LiveTensors, SeparateMemory, bytes_of
from programs.replay.operators import DTYPES, STATISTICS, Call, called
from programs.replay.replay_order import CALLS, MAX_OUTPUT_BYTES
from programs.replay.storage_lifetimes import START, Lifetimes, changed_tensors
from programs.replay.written_storages import (
    EMPTIES,
    PoisonedStorages,
    ReplayedLaunches,
    Written,
    WrittenStorages,
)
from programs.tape.overload_effects import drawing_device
from programs.tape.schema import (
    AtenOp,
    Device,
    InvalidTape,
    Op,
    Phase,
    Seeding,
    Structure,
    Tape,
    TapeLaunch,
    TensorRef,
    by_path,
    changeable,
    generators_of,
)

Digests = Callable[[Sequence[torch.Tensor]], Sequence[object]]
"""Returns values that are equal only for equal bytes of storages, within this process."""
_SEEDS = 1 << 64
CPU = torch.device("cpu")
_OUT_OF_MEMORY = re.compile(r"can't allocate memory|not enough memory|bad_alloc")
_OUT_OF_BOUNDS = re.compile(r"out of (range|bounds)", re.IGNORECASE)
_MAX_FINDINGS = 20
_MAX_ERROR_CHARS = 500
Ending = Literal["finished", "out_of_memory", "crashed"]
_SEED_OF: Mapping[Phase, int] = {"init": 0, "run": 0, "run2": 1}
"""Added to the seed, so that each call draws other numbers."""


class ChangedInputs:
    """Watches what `changeable` lists, in one call after the other."""

    def __init__(
        self, tape: Tape, tensors: LiveTensors, digests: Digests, *, watches_all: bool
    ) -> None:
        """With `watches_all`, also watch all memory that no op of a call may write."""
        self._tape, self._tensors, self._digests_of = tape, tensors, digests
        self._watches_all = watches_all
        self._written: frozenset[int] = frozenset()
        self._before: dict[int, object] = {}
        self.unexplained: set[int] = set()
        """The storages that some call changed, although none of its ops may write them."""
        self._kept: dict[int, bytes] = {}
        self._left_bytes = MAX_OUTPUT_BYTES
        self.too_many = False
        """True if the changed ones exceed the limit of compared bytes."""

    def begin(self, phase: Phase) -> None:
        """Digest the memory that an op of the next call may write, or all memory."""
        self._before, self._kept = {}, {}
        if phase not in CALLS:
            return
        self._written = may_be_written(self._tape, phase)
        watched = {self._storage(id_) for id_ in _watched(self._tape, phase)} & self._written
        if self._watches_all:
            watched |= set(range(len(self._tape.storages))) - self._written
        there = sorted(storage for storage in watched if self._tensors.has(storage))
        self._before = dict(zip(there, self._digests(there), strict=True))

    def leave(self, storages: Iterable[int], phase: Phase) -> None:
        """Check storages after their last use, before they are freed."""
        gone = [storage for storage in storages if storage in self._before]
        if not gone:
            return
        pairs = zip(gone, self._digests(gone), strict=True)
        changed = {storage for storage, digest in pairs if digest != self._before.pop(storage)}
        self.unexplained |= changed - self._written
        changed &= self._written
        if not changed:
            return
        for position, id_ in enumerate(_watched(self._tape, phase)):
            if self._storage(id_) in changed:
                self._keep(position, id_)

    def end(self, phase: Phase) -> Mapping[int, bytes]:
        """Return the contents that a call changed, by position in `changeable`."""
        self.leave(tuple(self._before), phase)
        return dict(self._kept)

    def _keep(self, position: int, id_: int) -> None:
        # `out=` may have reshaped it; the caller sees the bytes of the original shape
        meta = self._tape.tensors[id_]
        tensor = self._tensors.get(id_).as_strided(meta.shape, meta.strides, meta.offset)
        self._left_bytes -= tensor.numel() * tensor.itemsize
        if self._left_bytes < 0:
            self.too_many = True
        else:
            self._kept[position] = bytes_of(tensor)

    def _storage(self, id_: int) -> int:
        return self._tape.tensors[id_].storage

    def _digests(self, storages: Sequence[int]) -> Sequence[object]:
        return self._digests_of([self._tensors.octets(storage) for storage in storages])


def digests_on_host(octets: Sequence[torch.Tensor]) -> list[bytes]:
    """Return the digests of bytes on the CPU."""
    return [hashlib.blake2b(content.numpy()).digest() for content in octets]


def _watched(tape: Tape, phase: Phase) -> list[int]:
    return [id_ for _, id_ in changeable(tape, 0 if phase == CALLS[0] else 1)]


def may_be_written(tape: Tape, phase: Phase) -> frozenset[int]:
    """Return the storages that the ops of a phase may write."""
    ids = [id_ for op in tape.ops if op.phase == phase for id_ in changed_tensors(op)]
    return frozenset([tape.tensors[id_].storage for id_ in ids])


def seed_torch(seed: int, device: torch.device) -> None:
    """Seed torch's default generators of the host and of `device`, with `seed` modulo 2**64.

    Not `torch.manual_seed`: that queues a call for each kind of device that was never used, and
    keeps them all, so a long-lived process gets slower and larger.
    """
    seed %= _SEEDS
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        torch.cuda.default_generators[device.index or 0].manual_seed(seed)


class RandomGenerators:
    """The default generators for `cpu` and `cuda` tensors of a tape, and the program's generators.

    A program's generators have numbers on the tape. Each is made at its first use.
    """

    def __init__(self, tape: Tape, device: torch.device, draws_for: Device = "cuda") -> None:
        """`draws_for` is the kind of device whose state torch's generator has at first."""
        self._tape, self._device = tape, device
        self._found: dict[int, torch.Generator] = {}
        self._draws_for = draws_for
        self._aside: int | torch.Tensor | None = None
        """The state of the other kind's generator, or its seed if it has drawn nothing since."""

    def begin(self, seed: int) -> None:
        """Seed torch's generators, as each phase does."""
        seed_torch(seed, self._device)
        self._aside = seed

    def get(self, number: int) -> torch.Generator:
        """Return a generator of the program, with torch's default seed if it was never seeded."""
        if number not in self._found:
            self._found[number] = torch.Generator(self._device)
        return self._found[number]

    def seed(self, op: Seeding) -> None:
        """Repeat a seeding of the program."""
        if op.generator is not None:
            self.get(op.generator).manual_seed(op.seed)
            return
        if op.device in (None, self._draws_for):
            seed_torch(op.seed, self._device)
        if op.device != self._draws_for:
            self._aside = op.seed

    def make_ready(self, op: AtenOp) -> None:
        """Give torch's generator the state for the tape's device of `op`, if `op` draws."""
        device = drawing_device(op, self._tape)
        if device in (None, self._draws_for) or generators_of(op):
            return
        default = self._default_generator()
        state, aside = default.get_state(), self._aside
        if isinstance(aside, torch.Tensor):
            default.set_state(aside)
        elif aside is not None:
            seed_torch(aside, self._device)
        self._draws_for, self._aside = device, state

    def _default_generator(self) -> torch.Generator:
        if self._device.type == "cuda":
            return torch.cuda.default_generators[self._device.index or 0]
        return torch.default_generator


class ReplayStopped(Exception):
    """Ends a replay early, with the finding that caused it and those that followed."""

    def __init__(
        self, finding: Finding, *, ending: Ending = "finished", further: Sequence[Finding] = ()
    ) -> None:
        super().__init__(finding.message)
        self.findings, self.ending = [finding, *further], ending


def seed_of(phase: Phase, seed: int) -> int:
    """Return the seed of torch's generators at the beginning of a phase.

    The seed for inputs is the first 8 bytes of SHA-256 of `<seed>/inputs`, little endian. It is
    unrelated to the other phases' seeds also in its low 32 bits, all that the CPU generator uses.
    """
    if phase == "inputs":
        return int.from_bytes(sha256(f"{seed}/inputs".encode()).digest()[:8], "little")
    return seed + _SEED_OF[phase]


@dataclass(frozen=True)
class ReplayOptions:
    """The seed, the checks and the device of a replay, and callbacks around each op."""

    seed: int
    checks: Sequence[str] = ()
    backwards: bool = False
    """Run the program instances of each grid in the opposite order."""
    until: float | None = None
    """As in RunOptions."""
    before_op: Callable[[int], None] | None = None
    after_op: Callable[[int], None] | None = None
    device: torch.device = CPU
    sees_accesses: bool = True
    """True if launches report their writes; else unwritten memory is found by its contents."""
    other_poison: bool = False
    """Fill unwritten memory with the other poison, in a second replay on a GPU."""
    call: Call = called
    """Calls an ATen op; an experiment also measures its time."""
    may_round: bool = False
    """True if results may have another floating-point dtype than the tape's."""
    memory: SeparateMemory | None = None
    """The memory of tensors that lie between unmapped pages of a GPU."""
    digests: Digests = digests_on_host
    """Detects memory that a call changes. Its key must be hidden from the program's kernels."""


class ProgramRun:
    """Runs the phases of a tape one by one."""

    def __init__(
        self,
        tape: Tape,
        needed: Lifetimes,
        launches: ReplayedLaunches,
        how: ReplayOptions,
        inputs: Mapping[int, torch.Tensor],
    ) -> None:
        """Start with input tensors that another tape made, by their index in `tape`."""
        self._tape, self._needed, self._launches, self._how = tape, needed, launches, how
        self.tensors = LiveTensors(tape, how.device, how.memory)
        self.generators = RandomGenerators(tape, how.device)
        self.written = self._written_memory()
        self._inputs = ChangedInputs(
            tape, self.tensors, how.digests, watches_all=not how.sees_accesses
        )
        self.inputs_left: Mapping[int, bytes] = {}
        """The inputs, parameters and buffers that the last call changed in place, by position."""
        self.findings: list[Finding] = []
        self._found_at: set[tuple[str, str | None, str | None, int | None]] = set()
        self._next = 0
        self._take(inputs)

    def run(self, phase: Phase) -> None:
        """Run the ops of a phase, if those before it ran. Raises `ReplayStopped`, `Failure`."""
        self.generators.begin(seed_of(phase, self._how.seed))
        self._inputs.begin(phase)
        end = self._needed.ends[phase]
        with torch.no_grad():
            while self._next < end:
                if self._next:  # frees late, as the caller reads results at the end of a phase
                    self._inputs.leave(self._needed.freed_after.get(self._next - 1, ()), phase)
                    self._free(self._next - 1)
                self._step(self._next, self._tape.ops[self._next])
                self._next += 1
        self.inputs_left = self._inputs.end(phase)
        if self._inputs.too_many:
            raise _too_many_changed()

    def begin_calls(self, contents: Mapping[int, torch.Tensor]) -> None:
        """Begin with the first call, and with these bytes in storages."""
        self._next = self._needed.ends["inputs"]
        for storage, octets in contents.items():
            self.tensors.adopt(storage, octets)

    @property
    def unexplained(self) -> frozenset[int]:
        """The storages that calls changed on a GPU, although none of their ops may write them."""
        return frozenset(self._inputs.unexplained)

    def _written_memory(self) -> Written:
        if self._how.sees_accesses:
            return WrittenStorages(self._tape, self.tensors)
        return PoisonedStorages(self._tape, self.tensors, other=self._how.other_poison)

    def _take(self, inputs: Mapping[int, torch.Tensor]) -> None:
        for id_, content in self._tape.constants.items():
            meta = self._tape.tensors[id_]
            kind = DTYPES[meta.dtype]
            made = self.tensors.make(id_)
            if len(content) != made.numel() * kind.itemsize:
                what = f"{len(content)} bytes, not {meta.dtype} of shape {list(meta.shape)}"
                raise InvalidTape(f"/constants/{id_}", what)
            if content:
                elements = torch.frombuffer(bytearray(content), dtype=torch.uint8).view(kind)
                made.copy_(elements.reshape(meta.shape))
        for id_, tensor in inputs.items():
            self.tensors.bind(id_, tensor, may_copy=True)
        self._free(START)

    def _free(self, index: int) -> None:
        gone = self._needed.freed_after.get(index, ())
        self.written.free(gone)
        for storage in gone:
            self.tensors.free(storage)

    def _step(self, index: int, op: Op) -> None:
        if self._how.before_op is not None:
            self._how.before_op(index)
        match op:
            case AtenOp():
                self._call(op)
            case TapeLaunch():
                self._launch(index, op)
            case Seeding():
                self.generators.seed(op)
        if self._how.after_op is not None:
            self._how.after_op(index)

    def _call(self, op: AtenOp) -> None:
        if "initcheck" in self._how.checks:
            self._check_read(op)
        self.generators.make_ready(op)
        try:
            get, device = self.tensors.get, self._how.device
            results = self._how.call(op, get, device, self.generators.get)
        except InvalidTape:
            raise
        except Exception as error:
            raise _stopped_by(op, error, self._how.device) from error
        may_round = self._how.may_round or op.op in STATISTICS
        for id_, result in zip(op.outputs, results, strict=True):
            if id_ is not None and result is not None:
                self.tensors.bind(id_, result, may_copy=True, may_round=may_round)
        if op.op in EMPTIES:
            for id_ in op.outputs:
                self.written.poison(_present(id_), with_numbers=op.phase == "run2")
        else:
            self.written.write_by(op)

    def _check_read(self, op: AtenOp) -> None:
        written = self.written
        id_ = written.read_by(op) if isinstance(written, WrittenStorages) else None
        if id_ is None:
            return
        message = (
            f"{op.op} reads a tensor of shape {list(self._tape.tensors[id_].shape)} before all of "
            "its elements are written. Write them first, or use torch.zeros instead of torch.empty."
        )
        self._add(_finding_at(op, "uninitialized", message))

    def _launch(self, index: int, op: TapeLaunch) -> None:
        self._zero(op)
        how = RunOptions(self._how.checks, backwards=self._how.backwards, until=self._how.until)
        ran = self._launches.run(index, self.tensors, self.written, how)
        for finding in ran.findings:
            self._add(finding)
        if ran.stopped is not None:
            raise ReplayStopped(ran.stopped, further=ran.further)

    def _zero(self, op: TapeLaunch) -> None:
        """Zero the arguments that an autotuner zeroes after trying its configurations."""
        for name in op.reset_to_zero:
            value = op.args.get(name)
            if isinstance(value, TensorRef):
                self.tensors.get(value.id).zero_()
                self.written.write(value.id)

    def _add(self, finding: Finding | None) -> None:
        if finding is None:
            return
        where = (finding.kind, finding.argument, finding.file, finding.line)
        if where not in self._found_at and len(self.findings) < _MAX_FINDINGS:
            self._found_at.add(where)
            self.findings.append(finding)


def tensors_in(structure: Structure) -> Iterator[tuple[str, int]]:
    """Yield the tensors of a structure by path."""
    for path, value in by_path(structure).items():
        if isinstance(value, TensorRef):
            yield path, value.id


def _too_many_changed() -> ReplayStopped:
    message = (
        "The inputs and buffers that the program changes in place take more than "
        f"{MAX_OUTPUT_BYTES:,} bytes, the limit of a comparison. Make the inputs smaller."
    )
    finding = Finding(kind="out_of_memory", message=message)
    return ReplayStopped(finding, ending="out_of_memory")


def _present(id_: int | None) -> int:
    if id_ is None:
        raise InvalidTape("/ops", "an op that allocates memory returns no tensor")
    return id_


def _stopped_by(op: AtenOp, error: Exception, device: torch.device) -> ReplayStopped:
    text = str(error).split("\nException raised from")[0][:_MAX_ERROR_CHARS]
    where = "the CPU device" if device.type == "cpu" else "the GPU"
    message = f"{op.op} failed on {where}: {text or type(error).__name__}"
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)) or _OUT_OF_MEMORY.search(text):
        return ReplayStopped(_finding_at(op, "out_of_memory", message), ending="out_of_memory")
    if isinstance(error, IndexError) or _OUT_OF_BOUNDS.search(text):
        return ReplayStopped(_finding_at(op, "out_of_bounds", message))
    return ReplayStopped(_finding_at(op, "crashed", message), ending="crashed")


def _finding_at(op: AtenOp, kind: str, message: str) -> Finding:
    place = op.place
    return Finding(
        kind=kind,
        file=place.file if place else None,
        line=place.line if place else None,
        message=message,
    )
