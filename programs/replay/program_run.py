"""Runs a tape on one device, phase by phase: ops by ATen, launches by the device.

All tensors are on that device, whatever the tape says. Each phase starts from a seed, so that a
program and its reference draw the same numbers. The phase of inputs has a seed of its own, since
a program could otherwise draw its inputs in advance.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

import torch

from launch.checks.kernel_run import RunOptions
from launch.messages import Finding
from programs.replay.changed_inputs import ChangedInputs, Digests, digests_on_host
from programs.replay.live_tensors import LiveTensors
from programs.replay.operators import DTYPES, STATISTICS, Call, called
from programs.replay.poisoned_storages import PoisonedStorages
from programs.replay.random_generators import RandomGenerators
from programs.replay.replay_order import MOST_OUTPUT_BYTES
from programs.replay.replayed_launches import ReplayedLaunches, Written
from programs.replay.storage_lifetimes import START, Lifetimes
from programs.replay.written_storages import EMPTIES, WrittenStorages
from programs.tape.schema import (
    AtenOp,
    InvalidTape,
    Op,
    Phase,
    Seeding,
    Structure,
    Tape,
    TapeLaunch,
    TensorRef,
    by_path,
)

CPU = torch.device("cpu")
_OUT_OF_MEMORY = re.compile(r"can't allocate memory|not enough memory|bad_alloc")
_OUT_OF_BOUNDS = re.compile(r"out of (range|bounds)", re.IGNORECASE)
_MOST_FINDINGS = 20
_MAX_ERROR_CHARS = 500
Ending = Literal["finished", "out_of_memory", "crashed"]
_SEED_OF: Mapping[Phase, int] = {"init": 0, "run": 0, "run2": 1}
"""Added to the seed, so that each call draws other numbers."""


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
        given: Mapping[int, torch.Tensor],
    ) -> None:
        """`given` are the input tensors, made by another tape."""
        self._tape, self._needed, self._launches, self._how = tape, needed, launches, how
        self.tensors = LiveTensors(tape, how.device)
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
        self._take(given)

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

    def _take(self, given: Mapping[int, torch.Tensor]) -> None:
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
        for id_, tensor in given.items():
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
        for id_, found in zip(op.outputs, results, strict=True):
            if id_ is not None and found is not None:
                self.tensors.bind(id_, found, may_copy=True, may_round=may_round)
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
        for found in ran.findings:
            self._add(found)
        if ran.stopped is not None:
            raise ReplayStopped(ran.stopped, further=ran.further)

    def _zero(self, op: TapeLaunch) -> None:
        """Zero the arguments that an autotuner zeroes after trying its configurations."""
        for name in op.reset_to_zero:
            value = op.args.get(name)
            if isinstance(value, TensorRef):
                self.tensors.get(value.id).zero_()
                self.written.write(value.id)

    def _add(self, found: Finding | None) -> None:
        if found is None:
            return
        where = (found.kind, found.argument, found.file, found.line)
        if where not in self._found_at and len(self.findings) < _MOST_FINDINGS:
            self._found_at.add(where)
            self.findings.append(found)


def tensors_in(structure: Structure) -> Iterator[tuple[str, int]]:
    """Yield the tensors of a structure by path."""
    for path, value in by_path(structure).items():
        if isinstance(value, TensorRef):
            yield path, value.id


def _too_many_changed() -> ReplayStopped:
    message = (
        "The inputs and buffers that the program changes in place take more than "
        f"{MOST_OUTPUT_BYTES:,} bytes, the limit of a comparison. Make the inputs smaller."
    )
    finding = Finding(kind="out_of_memory", message=message)
    return ReplayStopped(finding, ending="out_of_memory")


def _present(id_: int | None) -> int:
    if id_ is None:
        raise InvalidTape("/ops", "an op that allocates memory returns no tensor")
    return id_


def _stopped_by(op: AtenOp, error: Exception, device: torch.device) -> ReplayStopped:
    said = str(error).split("\nException raised from")[0][:_MAX_ERROR_CHARS]
    where = "the CPU device" if device.type == "cpu" else "the GPU"
    message = f"{op.op} failed on {where}: {said or type(error).__name__}"
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)) or _OUT_OF_MEMORY.search(said):
        return ReplayStopped(_finding_at(op, "out_of_memory", message), ending="out_of_memory")
    if isinstance(error, IndexError) or _OUT_OF_BOUNDS.search(said):
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
