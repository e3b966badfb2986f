"""Launches a tape's kernel on the CPU device, over a program's storages, with checked accesses.

A pointer may reach all of its tensor's storage, as in torch, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from compiler.json_number import tagged_float
from compiler.ttir_to_numpy.batched_codegen import RunForm
from compiler.ttir_to_numpy.refusal import Untranslatable
from launch.buffers.allocation import Allocation, part
from launch.buffers.element_types import Array, stored
from launch.checks.checked_memory import TooManyAccesses
from launch.checks.kernel_run import KernelRun, RunOptions
from launch.checks.tuning import TunedKernel, finding_of, joined, tuning_side_effect, what_to_write
from launch.cpu.grid_run import run_grid
from launch.cpu.translation import needs_gpu, translated, translated_module
from launch.messages import Finding, RunOrder
from programs.replay.live_tensors import LiveTensors
from programs.replay.operators import DTYPES
from programs.replay.replay_order import KernelText, ReplayOrder
from programs.replay.value_flow import kernel_effects
from programs.replay.written_storages import LaunchReport, Written, WrittenStorages, kernels_by_op
from programs.tape.kernel_effects import KernelEffects
from programs.tape.overload_effects import (
    makes_views,
    overwritten_tensors,
    read_tensors,
    tensors_at,
    written_tensors,
)
from programs.tape.schema import (
    AtenOp,
    InvalidTape,
    LaunchValue,
    Op,
    ReinterpretedArgument,
    Tape,
    TapeDescriptor,
    TapeLaunch,
    TensorRef,
    tensors_of,
)
from programs.tape.tensor_extents import covers_storage

_ACCESSES_RATIO = 4
"""The limit of a backward run's accesses, as a multiple of the first run's."""


@dataclass(frozen=True, slots=True)
class TunedLaunch:
    """A launch that Triton would tune, at an op of a tape."""

    tape: Tape
    index: int
    effects: KernelEffects | None
    """The arguments that it reads and writes, None: any."""
    has_atomics: bool

    @property
    def launch(self) -> TapeLaunch:
        """The op itself."""
        launch = self.tape.ops[self.index]
        assert isinstance(launch, TapeLaunch)
        return launch

    @property
    def rewritten(self) -> frozenset[int]:
        """The storages that it may both read and write."""
        reads = _storages(self, None if self.effects is None else self.effects.reads)
        return reads & _storages(self, None if self.effects is None else self.effects.writes)

    def unused(self) -> frozenset[int]:
        """Return the storages whose contents nothing uses after it."""
        tape, phase = self.tape, self.launch.phase
        values = (*tape.inputs, *tape.inputs2, tape.outputs, tape.outputs2)
        compared = {tape.tensors[id_].storage for value in values for id_ in tensors_of(value)}
        storages = _storages(self, None)
        alive: set[int] = set()
        overwritten: set[int] = set()
        for op in islice(tape.ops, self.index + 1, None):
            if op.phase != phase:
                phase = op.phase
                alive |= compared - overwritten  # when the call returns
            used = {tape.tensors[id_].storage for id_ in tensors_at(op)} & storages
            if used and not (isinstance(op, AtenOp) and makes_views(op)):
                overwritten |= _overwritten(tape, op) - alive
                alive |= used - overwritten
        alive |= compared - overwritten
        return storages - alive

    def prepare(self, contents: dict[int, Array], before: Mapping[int, Array]) -> None:
        """Put back what each run finds as it was."""
        for id_ in _restored(self):
            storage = self.tape.tensors[id_].storage
            if storage in contents:
                _elements(self.tape, id_, contents[storage])[...] = _elements(
                    self.tape, id_, before[storage]
                )

    def finding(
        self, causes: frozenset[int], before: Mapping[int, Array], difference: str
    ) -> Finding:
        """Return the finding that runs change each other through these storages."""
        launch, kernel = self.launch, self.tape.kernels[self.launch.kernel]
        names = [
            name
            for name, value in launch.args.items()
            if self.effects is None or name in self.effects.writes
            if any(self.tape.tensors[id_].storage in causes for id_ in tensors_of(value))
        ]
        described = TunedKernel(kernel.name, kernel.file, kernel.line, len(launch.variants))
        return finding_of(described, names, difference, self._advice(names, before))

    def _advice(self, names: list[str], before: Mapping[int, Array]) -> str:
        zeroed: list[str] = []
        restored: list[str] = []
        for name in names:
            value = self.launch.args[name]
            if not isinstance(value, TensorRef):
                return f"Set {joined(names)} in a pre_hook of each triton.Config."
            octets = before.get(self.tape.tensors[value.id].storage)
            is_zero = octets is not None and not _elements(self.tape, value.id, octets).any()
            (zeroed if self.has_atomics and is_zero else restored).append(name)
        return what_to_write(zeroed, restored)


def _restored(tuned: TunedLaunch) -> Iterator[int]:
    """Yield the tensors that each run finds as they were: reset, restored or set by a hook."""
    launch = tuned.launch
    for name in (*launch.reset_to_zero, *launch.restore_value):
        yield from tensors_of(launch.args.get(name))
    for op in tuned.tape.ops[max(tuned.index - launch.hook_ops, 0) : tuned.index]:
        if isinstance(op, AtenOp):
            yield from written_tensors(op)


def _elements(tape: Tape, id_: int, octets: Array) -> Array:
    """Return a view of a tensor's bytes in its storage, with an axis for each element's bytes."""
    meta = tape.tensors[id_]
    size = DTYPES[meta.dtype].itemsize
    strides = [stride * size for stride in meta.strides]
    return np.lib.stride_tricks.as_strided(
        octets[meta.offset * size :], [*meta.shape, size], [*strides, 1]
    )


def _storages(tuned: TunedLaunch, names: frozenset[str] | None) -> frozenset[int]:
    """Return the storages of these arguments, of all without names."""
    return frozenset(
        tuned.tape.tensors[id_].storage
        for name, value in tuned.launch.args.items()
        if names is None or name in names
        for id_ in tensors_of(value)
    )


def _overwritten(tape: Tape, op: Op) -> frozenset[int]:
    """Return the storages that an op overwrites as a whole, without a look at their contents."""
    if not isinstance(op, AtenOp):
        return frozenset()
    read = {tape.tensors[id_].storage for id_ in read_tensors(op)}
    metas = [tape.tensors[id_] for id_ in overwritten_tensors(op)]
    return frozenset(
        meta.storage
        for meta in metas
        if meta.storage not in read and covers_storage(meta, tape.storages[meta.storage])
    )


class KernelLaunches:
    """Runs the launches of one tape. It prepares each kernel once."""

    def __init__(self, order: ReplayOrder, body: bytes, tape: Tape) -> None:
        """Raise `InvalidTape` if the numbers of launches and of kernels differ."""
        self._order, self._body, self._tape = order, body, tape
        self._names = kernels_by_op(tape, order.launches)
        self._grids = _grids(order, tape, list(self._names))
        self._forms: dict[str, RunForm] = {}
        self._written: dict[str, frozenset[str]] = {}
        """The paths of the arguments that each kernel may write, by kernel."""
        self._effects: dict[str, KernelEffects | None] = {}
        self._accesses: dict[int, int] = {}
        """The accesses of each launch's first run, by op."""

    def run(
        self,
        index: int,
        tensors: LiveTensors,
        written: Written,
        how: RunOptions,
    ) -> LaunchReport:
        """Run the launch at op `index`. Raises `Failure`, `InvalidTape`."""
        name = self._names[index]
        launch, kernel = self._tape.ops[index], self._order.kernels[name]
        assert isinstance(launch, TapeLaunch)
        assert isinstance(written, WrittenStorages)
        form = self._form(name, kernel)
        described = _Described(self._tape)
        arguments = {path: described.argument(value) for path, value in launch.args.items()}
        memory = StorageMemory(
            described.places, _allocations(self._written[name], arguments), tensors, written
        )
        order = self._run_order(kernel, arguments, self._grids.get(index, launch.grid))
        try:
            ran = self._ran(index, form, order, memory, how)
        except RecursionError:
            what = "the calls of its functions are nested too deeply"
            raise needs_gpu(Untranslatable(what)) from None
        memory.keep_written(ran)
        findings = list(ran.access_checker.findings)
        if launch.tunes and not (how.backwards or findings or ran.stopped):
            findings += self._tuned(index, form, order, memory)
        return LaunchReport(findings, ran.stopped, ran.further)

    def _tuned(
        self, index: int, form: RunForm, order: RunOrder, memory: StorageMemory
    ) -> list[Finding]:
        """Run a launch again on the memory that it left, as tuning does; return what differs."""
        effects = self._effects[self._names[index]]
        tuned = TunedLaunch(self._tape, index, effects, form.has_atomics)
        if not tuned.rewritten:
            return []
        most = _ACCESSES_RATIO * (self._accesses.get(index, 0) + 1)

        def run_again() -> Finding | None:
            return run_grid(form, order, memory, RunOptions(max_accesses=most)).stopped

        finding = tuning_side_effect(tuned, memory, run_again)
        return [] if finding is None else [finding]

    def _ran(
        self, index: int, form: RunForm, order: RunOrder, memory: StorageMemory, how: RunOptions
    ) -> KernelRun:
        """Run the launch. A backward run is limited, as an instance may wait for earlier ones."""
        if not how.backwards:
            ran = run_grid(form, order, memory, how)
            self._accesses[index] = ran.access_checker.accesses
            return ran
        most = _ACCESSES_RATIO * (self._accesses.get(index, 0) + 1)
        try:
            return run_grid(form, order, memory, replace(how, max_accesses=most))
        except TooManyAccesses:
            return run_grid(form, order, memory, replace(how, backwards=False))

    def _form(self, name: str, kernel: KernelText) -> RunForm:
        if name not in self._forms:
            text = part(self._body, kernel.ir).decode()
            order = self._run_order(kernel, {}, (1, 1, 1))
            self._forms[name] = translated(order, text)
            module = translated_module(order, text)
            self._effects[name] = effects = kernel_effects(module, kernel.parameters)
            self._written[name] = _written(kernel, effects)
        return self._forms[name]

    def _run_order(
        self, kernel: KernelText, arguments: dict[str, Any], grid: Sequence[int]
    ) -> RunOrder:
        return RunOrder(
            ir=kernel.ir,
            stage=kernel.stage,
            target=self._order.target,
            files=self._order.files,
            allocations=[],
            arguments=arguments,
            parameters=kernel.parameters,
            grid=grid,
            batch_elements=self._order.batch_elements,
            fp_fusion=kernel.fp_fusion,
            ir_bounds=self._order.ir_bounds,
        )


@dataclass(frozen=True)
class TypedStorage:
    """A storage as elements of one dtype, under an argument's name."""

    storage: int
    dtype: str


class StorageMemory:
    """The storages that a launch reaches, with copies of those that it may change."""

    def __init__(
        self,
        places: Sequence[TypedStorage],
        changed: frozenset[int],
        tensors: LiveTensors,
        written: WrittenStorages,
    ) -> None:
        """Copy the storages at those positions of `places` that the kernel may write."""
        self._places, self._written = places, written
        storages = {places[number].storage for number in changed}
        self._changed = [place.storage in storages for place in places]
        self._octets = {place.storage: tensors.octets(place.storage).numpy() for place in places}
        self._before = {storage: self._octets[storage].copy() for storage in storages}
        self._is_first = True

    def fresh(self) -> list[Allocation]:
        """Return the storages with their contents before the launch."""
        if not self._is_first:
            for storage, before in self._before.items():
                self._octets[storage][:] = before
        self._is_first = False
        return [
            Allocation(f"storage{place.storage}", place.dtype, output, self._elements(place))
            for place, output in zip(self._places, self._changed, strict=True)
        ]

    def before(self) -> Mapping[int, Array]:
        """Return the bytes before the launch of each storage that it may change."""
        return self._before

    def contents(self) -> dict[int, Array]:
        """Return copies of the bytes of those storages now."""
        return {storage: self._octets[storage].copy() for storage in self._before}

    def begin_with(self, contents: Mapping[int, Array]) -> None:
        """Put these bytes into those storages, and begin further runs with them."""
        self._before = dict(contents)
        for storage, octets in contents.items():
            self._octets[storage][:] = octets

    def dtypes(self) -> Mapping[int, str]:
        """Return a dtype of the elements of each storage."""
        return {place.storage: place.dtype for place in reversed(self._places)}

    def filled(self) -> list[Array]:
        """Return flags of the elements that were written before the launch."""
        return [
            self._written.elements(place.storage, stored(place.dtype).itemsize)
            for place in self._places
        ]

    def keep_written(self, ran: KernelRun) -> None:
        """Note the elements that a run wrote."""
        for number, place in enumerate(self._places):
            flags = ran.written_elements.written(number)
            if flags is not None:
                self._written.put(place.storage, flags, stored(place.dtype).itemsize)

    def _elements(self, place: TypedStorage) -> Array:
        octets, kind = self._octets[place.storage], stored(place.dtype)
        whole: Array = octets[: octets.size // kind.itemsize * kind.itemsize].view(kind)
        return whole


class _Described:
    """Arguments in the format of launches; each storage is one allocation for each dtype."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._numbers: dict[TypedStorage, int] = {}

    @property
    def places(self) -> list[TypedStorage]:
        return list(self._numbers)

    def argument(self, value: LaunchValue) -> dict[str, Any]:
        match value:
            case TensorRef():
                return self._buffer(value.id)
            case ReinterpretedArgument():
                return self._buffer(value.base.id, value.dtype)
            case TapeDescriptor():
                base = self._buffer(value.base.id)
                base |= {"shape": list(value.shape), "strides": list(value.strides)}
                block = list(value.block_shape)
                return {"kind": "descriptor", "base": base, "block_shape": block, "padding": "zero"}
            case tuple():
                return {"kind": "tuple", "items": [self.argument(item) for item in value]}
            case None:
                return {"kind": "none"}
            case bool() | int():
                return {"kind": "scalar", "value": value}
            case float():
                return {"kind": "scalar", "value": tagged_float(value)}
        return {"kind": "constexpr"}

    def _buffer(self, id_: int, dtype: str | None = None) -> dict[str, Any]:
        meta = self._tape.tensors[id_]
        kind = dtype or meta.dtype
        place = TypedStorage(meta.storage, kind)
        if kind.startswith("complex"):
            raise InvalidTape(f"/tensors/{id_}", f"a kernel takes no tensor of {kind}")
        return {
            "kind": "buffer",
            "allocation": self._numbers.setdefault(place, len(self._numbers)),
            "shape": list(meta.shape),
            "strides": list(meta.strides),
            "offset": meta.offset,
            "dtype": kind,
            "output": True,
            "whole": True,
        }


def _grids(order: ReplayOrder, tape: Tape, ops: Sequence[int]) -> dict[int, Sequence[int]]:
    """Return the grids of launches that do not run their first variant, by op."""
    grids: dict[int, Sequence[int]] = {}
    for index, number in zip(ops, order.variants, strict=bool(order.variants)):
        launch = tape.ops[index]
        assert isinstance(launch, TapeLaunch)
        if number >= max(1, len(launch.variants)):
            raise InvalidTape(f"/ops/{index}", f"it has no variant {number}")
        if number:
            grids[index] = launch.variants[number].grid
    return grids


def _written(kernel: KernelText, effects: KernelEffects | None) -> frozenset[str]:
    """Return the paths of the arguments that a kernel may write; all if that is unknown."""
    paths = frozenset(kernel.parameters)
    return effects.writes if effects is not None and effects.writes <= paths else paths


def _allocations(paths: frozenset[str], arguments: Mapping[str, dict[str, Any]]) -> frozenset[int]:
    """Return the allocations of these arguments."""
    bases = [(argument := _at(path, arguments)).get("base", argument) for path in paths]
    return frozenset(base["allocation"] for base in bases if "allocation" in base)


def _at(path: str, arguments: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    name, *positions = path.split(".")
    argument = arguments[name]
    for position in positions:
        argument = argument["items"][int(position)]
    return argument
