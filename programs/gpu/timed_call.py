"""One call of a program for timing: only its ops, repeatedly on the same inputs.

There is no poison and no bookkeeping between the ops. Before each run, memory that the call changes
is restored. Keyed digests represent the outputs of the checked calls, so that the device's memory
holds no copy of them while runs are timed. This uses torch, but no CUDA API.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import torch

from programs.gpu.memory_ranges import MemoryRange
from programs.replay.live_tensors import LiveTensors, in_order
from programs.replay.operators import STATISTICS, called
from programs.replay.program_run import RandomGenerators, tensors_in
from programs.replay.replay_order import CALLS
from programs.replay.storage_lifetimes import Lifetimes, changed_tensors
from programs.tape.allowed_overloads import ALLOWED
from programs.tape.overload_effects import drawing_device
from programs.tape.schema import (
    AtenOp,
    Device,
    Op,
    Seeding,
    Tape,
    TapeLaunch,
    TensorRef,
    generators_of,
    tensors_of,
)

_QUEUE_NOTHING = frozenset({"view", "metadata", "uninitialized"})
"""Kinds of overloads that queue no work on a GPU."""
AfterOp = Callable[[int], None]


Digests = Callable[[Sequence[torch.Tensor]], Sequence[int]]
"""Returns a number for each tensor; only equal elements give equal numbers."""
Checked = Mapping[int, Sequence[int]]
"""The digests of the checked outputs, by call, so that no copy of them is needed."""


class NotCapturable(Exception):
    """A call cannot be captured as a graph; the message gives the reason."""


class CallLaunches(Protocol):
    """Queues launches of a tape on the current stream, in a way that can be captured."""

    def launch(self, index: int, tensors: LiveTensors) -> None:
        """Queue the launch at op `index`. Raises KernelFault, CudaError."""
        ...


class GpuTimedCall:
    """One call. `tensors` are those at its beginning, of which it frees none."""

    def __init__(
        self,
        tape: Tape,
        needed: Lifetimes,
        call: int,
        tensors: LiveTensors,
        launches: CallLaunches,
        device: torch.device,
    ) -> None:
        self.call = call
        self._tape, self._needed, self._tensors = tape, needed, tensors
        self._launches, self.device = launches, device
        draws_for: Device = next(iter(devices_drawn_on(tape, call)), "cuda")
        self._generators = RandomGenerators(tape, device, draws_for)
        self.ops = ops_of(tape, call)
        self._there = frozenset(i for i in range(len(tape.storages)) if tensors.has(i))
        self._before: Mapping[int, torch.Tensor] = {}
        structure = (tape.outputs, tape.outputs2)[call]
        self._output_ids = [id_ for _, id_ in tensors_in(structure)]
        self.made: list[MemoryRange] = []
        """The memory of everything that the last run allocated."""

    @property
    def written(self) -> frozenset[int]:
        """The storages that the call may write."""
        ids = (id_ for index in self.ops for id_ in changed_tensors(self._tape.ops[index]))
        return frozenset([self._tape.tensors[id_].storage for id_ in ids])

    def keep(self, storages: frozenset[int]) -> None:
        """Copy the current contents of these storages, as far as they exist, for `restore`."""
        kept = storages & self._there
        self._before = {storage: self._tensors.octets(storage).clone() for storage in kept}

    @property
    def copies(self) -> Sequence[torch.Tensor]:
        """The bytes that `restore` copies."""
        return list(self._before.values())

    def restore(self) -> None:
        """Restore everything that the call may write to its state at `keep`."""
        for storage, content in self._before.items():
            self._tensors.octets(storage).copy_(content)

    def run(self, after: AfterOp | None = None) -> None:
        """Queue all ops; call `after` for each that queues work on the device.

        Its outputs, and tensors that a later call needs, stay until `release`.
        """
        self.made = []
        for index in self.ops:
            op = self._tape.ops[index]
            self._step(index, op)
            if after is not None and queues_work(op):
                after(index)
            if index != self.ops[-1]:
                self._free(self._needed.freed_after.get(index, ()))

    def outputs(self) -> list[torch.Tensor]:
        """Return the outputs of the last run, by position."""
        return [self._tensors.get(id_) for id_ in self._output_ids]

    def release(self) -> None:
        """Free everything that the last run made."""
        self._free(range(len(self._tape.storages)))

    def free_unneeded(self) -> None:
        """Free what the last run made, except what a later call needs or returns."""
        later = {self._tape.tensors[id_].storage for id_ in tensors_of(self._tape.outputs2)}
        if self.ops:
            unneeded = self._needed.freed_after.get(self.ops[-1], ())
            self._free([storage for storage in unneeded if storage not in later])

    def _free(self, storages: Sequence[int]) -> None:
        for storage in storages:
            if storage not in self._there:
                self._tensors.free(storage)

    def _step(self, index: int, op: Op) -> None:
        match op:
            case AtenOp():
                results = called(op, self._tensors.get, self.device, self._generators.get)
                for id_, result in zip(op.outputs, results, strict=True):
                    if id_ is not None and result is not None:
                        self._bind(id_, result, may_round=op.op in STATISTICS)
            case TapeLaunch():
                for name in op.reset_to_zero:
                    value = op.args.get(name)
                    if isinstance(value, TensorRef):
                        self._tensors.get(value.id).zero_()
                self._launches.launch(index, self._tensors)
            case Seeding():
                self._generators.seed(op)

    def _bind(self, id_: int, result: torch.Tensor, *, may_round: bool) -> None:
        storage = self._tape.tensors[id_].storage
        is_new = not self._tensors.has(storage)
        self._tensors.bind(id_, result, may_copy=True, may_round=may_round)
        if is_new:
            octets = self._tensors.octets(storage)
            if octets.numel():
                self.made.append(MemoryRange(octets.data_ptr(), octets.numel()))


def draws_on(tape: Tape) -> bool:
    """Return True if a call draws from a generator that was seeded before it, so runs differ."""
    for phase in CALLS:
        seeded = set[int]()
        for op in tape.ops:
            if op.phase != phase:
                continue
            if isinstance(op, Seeding):
                seeded.update(generators_of(op))
            elif not seeded.issuperset(generators_of(op)):
                return True
    return False


def devices_drawn_on(tape: Tape, call: int) -> frozenset[Device]:
    """Return the device types of those torch generators that a call draws from."""
    ops = [tape.ops[index] for index in ops_of(tape, call)]
    devices = (drawing_device(op, tape) for op in ops if not generators_of(op))
    return frozenset(device for device in devices if device is not None)


def ops_of(tape: Tape, call: int) -> range:
    """Return the indices of a call's ops."""
    phases = [op.phase for op in tape.ops]
    phase = CALLS[call]
    first = phases.index(phase) if phase in phases else len(phases)
    return range(first, first + phases.count(phase))


def queues_work(op: Op) -> bool:
    """Return True if an op queues work on a device; a view does not."""
    if isinstance(op, AtenOp):
        return ALLOWED[op.op].kind not in _QUEUE_NOTHING
    return isinstance(op, TapeLaunch)


def calls_match(tape: Tape) -> bool:
    """Return True if both calls do the same ops on tensors of the same shapes."""
    first, second = ([_comparable(tape, tape.ops[at]) for at in ops_of(tape, n)] for n in (0, 1))
    return first == second


def _comparable(tape: Tape, op: Op) -> object:
    if isinstance(op, Seeding):
        return Seeding
    if isinstance(op, TapeLaunch):
        ids = [id_ for value in op.args.values() for id_ in tensors_of(value)]
        what: object = (op.kernel, op.grid, op.constexprs, op.options)
    else:
        ids = [id_ for id_ in op.outputs if id_ is not None]
        what = op.op
    metas = [tape.tensors[id_] for id_ in ids]
    return what, [(meta.dtype, meta.shape, meta.strides) for meta in metas]


class IterationOutputs:
    """Counts runs whose outputs differ from the checked ones."""

    def __init__(self, checked: Checked, digests: Digests) -> None:
        self._checked, self._digests = checked, digests
        self._runs = self._differing = 0

    def compare(self, call: int, outputs: Sequence[torch.Tensor]) -> None:
        """Compare a finished run."""
        self._runs += 1
        self._differing += list(self._digests(outputs)) != list(self._checked[call])

    def report(self) -> dict[str, int]:
        """Return the fields of `timing` about all runs."""
        return {"checked_repeats": self._runs, "differing_repeats": self._differing}


def octets_of(tensor: torch.Tensor) -> torch.Tensor:
    """Return the bytes of a tensor's elements in C order, without a copy if possible."""
    if not tensor.numel():
        return torch.empty(0, dtype=torch.uint8, device=tensor.device)
    return in_order(tensor).view(torch.uint8)
