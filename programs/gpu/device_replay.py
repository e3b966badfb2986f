"""Replays one program on the GPU, from its order to its result: outputs, faults, times.

The checked replay waits for the GPU after each op, so that a fault can be assigned to its op. Only
program launchers import this.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any

import torch

from launch.buffers.element_types import Array
from launch.messages import Finding
from programs.gpu.device_launches import ChosenLaunches, DeviceLaunches
from programs.gpu.fresh_inputs import Draws, FreshInputs
from programs.gpu.memory_ranges import guarded_storages
from programs.gpu.op_fault import OpFault, op_fault
from programs.gpu.prepared_calls import TimedProgram
from programs.gpu.program_context import GpuProgramContext
from programs.gpu.program_order import MAX_CHANGED, ProgramOrder, ProgramTimingOrder
from programs.gpu.program_timing import timed, untimed
from programs.gpu.replay_outputs import (
    DroppedOutputs,
    KeptOutputs,
    OutputIndex,
    SentOutputs,
    named,
)
from programs.gpu.tensor_guards import TensorGuards
from programs.gpu.timed_call import Checked
from programs.gpu.turns import timed_in_turns
from programs.gpu.variant_choice import VariantChoice
from programs.replay.checked_tapes import (
    NoMetaKernel,
    check_tapes,
    given_inputs,
    outputs_of,
    parameter_digests,
)
from programs.replay.live_tensors import LiveTensors
from programs.replay.program_run import (
    Ending,
    ProgramRun,
    ReplayOptions,
    ReplayStopped,
    tensors_in,
)
from programs.replay.replay_order import CALLS
from programs.replay.storage_lifetimes import START, lifetimes
from programs.tape.read_tape import read_tape
from programs.tape.schema import InvalidTape, Tape, TapeLaunch, tensors_of
from worker.gpu.launcher.device import CudaError
from worker.gpu.launcher.fault import JobFailed, KernelFault, leaves_context
from worker.gpu.launcher.launcher_order import BESIDE
from worker.gpu.launcher.run_outputs import Send

_MAX_LOOKS = 2000
"""Limit of the launches after which red zones are checked; later ones at the end of a call."""


class _NotReady(Exception):
    """A reference cannot be timed; the message gives the reason."""


class DeviceReplay:
    """One order in a program launcher. `send` takes frames, `outputs` the calls' outputs."""

    def __init__(
        self,
        context: GpuProgramContext,
        order: ProgramOrder,
        send: Send,
        outputs: SentOutputs | KeptOutputs | DroppedOutputs,
    ) -> None:
        """Read the tape. Raises `InvalidTape`."""
        self._context, self._order, self._send = context, order, send
        self._sink = outputs
        self.tape = read_tape(order.tape)
        self._needed = lifetimes(self.tape)
        self._launches = DeviceLaunches(context, order, self.tape)
        self._launches.choice = self._choose
        self._timing = context.timing
        self._variants = VariantChoice(self.tape, self._timing)
        self._findings: list[Finding] = []
        self._parameters: list[str | None] = []
        self._inputs_left: list[str] = []
        self._guards: TensorGuards | None = None
        """The guarded memory of the replay that is running; None: tensors lie side by side."""
        self._looks_left = _MAX_LOOKS
        self._spare_bytes = 0
        self._unexplained: set[int] = set()
        """The storages that calls changed, although none of their ops may write them."""
        self._op: int | None = None
        """The op that is running; `START` while calls are timed."""

    def perform(self) -> dict[str, Any]:
        """Return the result. Raises OpFault, KernelFault, JobFailed, `InvalidTape`, `NoMetaKernel`.

        Also raises CudaError if no op is running.
        """
        ending: Ending = "finished"
        results: dict[str, Any] = {}
        try:
            with out_of_memory(), self._faults():
                self._source = self._checked()
                results = self._replays()
        except ReplayStopped as stopped:
            self._findings += stopped.findings
            ending = stopped.ending
        self._timing.close()
        report: dict[str, Any] = {
            "ending": ending,
            "findings": [asdict(finding) for finding in self._findings],
            "peak_bytes": self._needed.peak_bytes,
            "parameters": self._parameters,
            "inputs_left": self._inputs_left,
            "module_state": self._launches.module_state(),
            "variants": {str(op): number for op, number in self._launches.chosen.items()},
        }
        results["changed_storages"] = sorted(
            self._unexplained.union(results.get("changed_storages", ()))
        )[:MAX_CHANGED]
        return report | {"deterministic": None, "timing": None} | results

    def _checked(self) -> Tape | None:
        most_bytes = min(self._order.memory_bytes, self._context.free_cached_memory())
        self._spare_bytes = max(0, most_bytes - self._needed.peak_bytes)
        return check_tapes(
            self.tape, self._order.inputs_tape, most_bytes, "the GPU", self._sink.most_bytes
        )

    def _replays(self) -> dict[str, Any]:
        """Replay once or several times, as ordered; the first replay sends the outputs."""
        self._stage("run")
        checked, suspects = self._first()
        self._unwritten(suspects)
        if self._findings:
            return {}
        results: dict[str, Any] = {}
        if self._order.determinism:
            self._stage("again")
            results["deterministic"] = self._repeats(checked)
        if self._order.timing is not None and not self._findings:
            results |= self._timed(checked, self._order.timing)
            if isinstance(self._sink, KeptOutputs):
                _doubt(results["timing"], self._keep(self._sink, checked))
        return results

    def _keep(self, sink: KeptOutputs, checked: Checked) -> int:
        """Replay to keep outputs on the GPU, where no copy of them may be before.

        Return the number of calls with other outputs than the checked ones.
        """
        self._stage("again")
        differing = 0
        for run, call in self._calls():
            differing += self._digests(run, call) != checked[call]
            for place, id_ in self._outputs(call):
                sink.keep(place, run.tensors.get(id_))
        return differing

    def _timed(self, checked: Checked, order: ProgramTimingOrder) -> dict[str, Any]:
        """Return the fields of the result with times."""
        if self._order.turns is not None:
            return self._timed_in_turns(checked, order, self._order.turns)
        self._stage("timing")
        return timed(self._timed_program(checked, None), order, self._timing)

    def _timed_in_turns(
        self, checked: Checked, order: ProgramTimingOrder, reference_order: ProgramOrder
    ) -> dict[str, Any]:
        self._stage(BESIDE)
        draws = self._draws()
        try:
            reference = self._ready_reference(reference_order, draws)
        except _NotReady as not_ready:
            return untimed(f"It was not timed: its reference cannot run: {not_ready}"[:500])
        self._stage("timing")
        programs = self._timed_program(checked, draws), reference
        return timed_in_turns(programs, order, self._order.tolerances, self._timing)

    def _ready_reference(self, order: ProgramOrder, draws: Draws | None) -> TimedProgram:
        """Return a reference that ran once. Raises `_NotReady`; OpFault if that ends the context.

        Its results are of other inputs than those of timed runs.
        """
        try:
            return DeviceReplay(self._context, order, self._send, DroppedOutputs()).ready(draws)
        except (ReplayStopped, InvalidTape, NoMetaKernel) as error:
            raise _NotReady(str(error)) from error
        except JobFailed as error:
            if error.slug == "device_error":
                raise
            raise _NotReady(str(error)) from error
        except OpFault as fault:
            if not fault.leaves_context:
                raise
            raise _NotReady(str(fault)) from fault

    def ready(self, draws: Draws | None) -> TimedProgram:
        """Replay without a result; return the program, to be timed. Raises as `perform` does."""
        with out_of_memory(), self._faults():
            self._source = self._checked()
            checked, _ = self._first()
            return self._timed_program(checked, draws)

    def _timed_program(self, checked: Checked, draws: Draws | None) -> TimedProgram:
        run = self._begun()
        self._op = START
        return TimedProgram(
            tape=self.tape,
            tensors=run.tensors,
            launches=ChosenLaunches(self._launches),
            checked=checked,
            seed=self._order.seed,
            device=self._context.torch_device,
            fresh=None if draws is None else FreshInputs(self.tape, draws, run.tensors),
        )

    def _draws(self) -> Draws | None:
        """Return what draws other inputs; None if kernels make them."""
        device = self._context.torch_device
        how = ReplayOptions(self._order.seed, device=device, sees_accesses=False)
        try:
            return Draws(self.tape if self._source is None else self._source, how)
        except InvalidTape:
            return None

    def _first(self) -> tuple[Checked, dict[OutputIndex, Array]]:
        """Pass outputs on; return their digests, and the elements that may be unwritten."""
        digests: dict[int, Sequence[int]] = {}
        suspects: dict[OutputIndex, Array] = {}
        self._guards = guards = self._context.guards
        guards.begin(guarded_storages(self.tape, guards.page_bytes, self._spare_bytes // 2))
        for run, call in self._calls():
            self._find_damage(None)
            digests[call] = self._digests(run, call)
            for place, id_ in self._outputs(call):
                self._sink.take(place, run.tensors.get(id_))
                if isinstance(self._sink, KeptOutputs) and self._order.timing is None:
                    self._sink.keep(place, run.tensors.get(id_))
                if (missing := run.written.unwritten(id_)) is not None:
                    suspects[place] = missing
            for position, data in run.inputs_left.items():
                self._sink.take_input((call, position), data)
                self._inputs_left.append(named((call, position)))
            del run  # a replay's tensors lie in memory that ends with it
        self._guards = None
        guards.end()
        return digests, suspects

    def _digests(self, run: ProgramRun, call: int) -> Sequence[int]:
        outputs = [run.tensors.get(id_) for _, id_ in self._outputs(call)]
        return self._timing.digests(outputs)

    def _choose(self, index: int, tensors: LiveTensors) -> int:
        op, names = self.tape.ops[index], self._launches.variants(index)
        assert isinstance(op, TapeLaunch)
        return self._variants.variant_of(
            op, names, tensors, lambda variant: self._launches.launch(index, variant, tensors)
        )

    def _unwritten(self, suspects: dict[OutputIndex, Array]) -> None:
        """Pass on the unwritten elements: those with the other poison after a second replay."""
        if not suspects:
            return
        self._stage("unwritten")
        for run, call in self._calls(other_poison=True):
            for place, id_ in self._outputs(call):
                missing = run.written.unwritten(id_)
                if missing is None or place not in suspects:
                    continue
                if (both := suspects[place] & missing).any():
                    self._sink.take_unwritten(place, both)

    def _repeats(self, checked: Checked) -> bool:
        """Replay again, and add findings where outputs differ; return True if none do."""
        same = True
        for run, call in self._calls():
            pairs = zip(self._digests(run, call), checked[call], strict=True)
            for path, (digest, other) in zip(self._paths(call), pairs, strict=True):
                if digest != other:
                    same = False
                    self._findings.append(_nondeterministic(path, call))
        return same

    def _calls(self, *, other_poison: bool = False) -> Iterator[tuple[ProgramRun, int]]:
        """Yield a replay at the end of each of its calls."""
        run = self._begun(other_poison=other_poison)
        for call, phase in enumerate(CALLS):
            run.run(phase)
            self._op = None
            self._unexplained |= run.unexplained
            yield run, call

    def _begun(self, *, other_poison: bool = False) -> ProgramRun:
        """Return a replay that is ready for its first call."""
        how = ReplayOptions(
            self._order.seed,
            device=self._context.torch_device,
            sees_accesses=False,
            other_poison=other_poison,
            digests=self._timing.digests,
            memory=self._guards,
        )
        inputs = {} if self._source is None else self._given(self._source, how)
        how = replace(how, before_op=self._begin, after_op=self._end)
        run = ProgramRun(self.tape, self._needed, self._launches, how, inputs)
        del inputs  # so that the replay can free tensors after their last use
        run.run("init")
        self._parameters = parameter_digests(self.tape, run.tensors)
        run.run("inputs")
        return run

    def _given(self, source: Tape, how: ReplayOptions) -> dict[int, torch.Tensor]:
        inputs = given_inputs(self.tape, source, how)
        self._context.wait()
        return inputs

    def _begin(self, index: int) -> None:
        self._op = index
        if self._order.announce:
            self._stage(f"op-{index}")

    def _end(self, index: int) -> None:
        self._context.wait()
        op = self.tape.ops[index]
        if self._guards is not None and isinstance(op, TapeLaunch) and self._looks_left:
            self._looks_left -= 1
            self._find_damage(op)

    def _find_damage(self, op: TapeLaunch | None) -> None:
        """Add a finding for each red zone that changed: by a launch, or by any; see `_end`."""
        if self._guards is None:
            return
        launched = {} if op is None else _storages_of(self.tape, op)
        for storage in self._guards.damaged(None if op is None else launched):
            self._findings.append(_out_of_bounds(op, launched.get(storage)))

    def _outputs(self, call: int) -> list[tuple[OutputIndex, int]]:
        ids = [id_ for _, id_ in tensors_in(outputs_of(self.tape, call))]
        return [((call, position), id_) for position, id_ in enumerate(ids)]

    def _paths(self, call: int) -> list[str]:
        return [path for path, _ in tensors_in(outputs_of(self.tape, call))]

    def _stage(self, name: str) -> None:
        """Announce a step to the worker, so that it knows where a deadline passed."""
        self._send({"kind": "stage", "stage": name, "ms": 0.0}, b"")

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Turn CUDA's errors into faults of the op that is running."""
        try:
            yield
        except CudaError as error:
            raise self._fault(error) from error
        except KernelFault as fault:
            index = self._op if self._op is not None else START
            left = leaves_context(fault.fault)
            raise OpFault(fault, index, leaves_context=left) from fault
        except ReplayStopped:
            try:  # the driver's error name is clearer than torch's message
                self._context.wait()
            except CudaError as error:
                raise self._fault(error) from error
            raise

    def _fault(self, error: CudaError) -> OpFault | CudaError:
        if self._op is None:
            return error
        return op_fault(error, self._op, self.tape.ops[self._op] if self._op >= 0 else None)


@contextmanager
def out_of_memory() -> Iterator[None]:
    """Turn torch's out-of-memory error into JobFailed."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        detail = str(error).split("\n", maxsplit=1)[0]
        message = "The GPU has too little memory for the program and copies of its outputs"
        raise JobFailed("out_of_memory", f"{message}: {detail}") from error


def _doubt(timing: dict[str, Any] | None, differing: int) -> None:
    """Count compared calls with other outputs than the timed ones among the differing runs."""
    if timing is not None and differing:
        timing["checked_repeats"] += len(CALLS)
        timing["differing_repeats"] += differing


def _storages_of(tape: Tape, op: TapeLaunch) -> dict[int, str]:
    """Return the names of a launch's arguments by their storage."""
    pairs = [(id_, name) for name, value in op.args.items() for id_ in tensors_of(value)]
    return {tape.tensors[id_].storage: name for id_, name in reversed(pairs)}


def _out_of_bounds(op: TapeLaunch | None, argument: str | None) -> Finding:
    of = "a tensor" if argument is None else argument
    message = f"A kernel wrote next to {of}, outside of its memory."
    place = None if op is None else op.place
    file, line = (None, None) if place is None else (place.file, place.line)
    return Finding(kind="out_of_bounds", argument=argument, file=file, line=line, message=message)


def _nondeterministic(path: str, call: int) -> Finding:
    which = ("first", "second")[call]
    message = f"Output {path} of the {which} call differs between two replays with equal inputs."
    return Finding(kind="nondeterministic", argument=path, message=message)
