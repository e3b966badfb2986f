"""Replays both calls of a tape with other values of inputs, and of parameters that are all 0 or 1.

Two programs with equal inputs get equal values, which neither can foresee. The first call gets
other signs and a few large elements, the second call keeps the signs of one-signed inputs. Zeros,
infinities, symmetry and sorted vectors stay, since a reference may need them.

For a reference, it also runs the calls in fp64, and checks whether its outputs could separate right
from wrong: if they are constant, or an input, a program that computes nothing passes.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256

import numpy as np
import torch

from compiler.messages.wire import Send
from launch.buffers.element_types import Array
from launch.messages import Finding, Tolerance
from programs.replay.checked_tapes import check_memory, given_inputs, outputs_of
from programs.replay.live_tensors import LiveTensors, bytes_of, in_order
from programs.replay.operators import DTYPES
from programs.replay.program_run import ProgramRun, ReplayOptions, ReplayStopped, tensors_in
from programs.replay.replay_order import (
    CALLS,
    Experiment,
    InsensitiveOutput,
    OtherValues,
    output_stage,
    precise_stage,
    unwritten_stage,
)
from programs.replay.storage_lifetimes import START, Lifetimes, lifetimes
from programs.replay.written_storages import NoLaunches, ReplayedLaunches
from programs.tape.schema import InvalidTape, Phase, Tape, TensorRef, TupleOf, by_path, input_path
from programs.tape.varied_tape import (
    NotWidened,
    ParameterOrigin,
    origins_of,
    used_in_calls,
    widened,
)

NOT_PRECISE = "not_precise"
"""The finding that calls cannot run in fp64."""
_SHARE = 0.5
"""The share of a tolerance that rounding may use up where an element counts."""
_UNCHANGED = OtherValues(seed=0)
_MAX_NAMED = 200
"""Limit of the characters of an input's path."""
_LARGE = (1000.0, 30.0)
"""The factor of the large elements, by call."""
_FEW = 8
_ONE_IN = 64
_TRUE_SHARE = (0.5, 0.8)
_INTEGERS = frozenset({torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64})
_FLOATS = frozenset({torch.float16, torch.bfloat16, torch.float32, torch.float64})


class PreciseRun:
    """The calls of a tape in fp64."""

    def __init__(self, tape: Tape, run: ProgramRun, how: ReplayOptions, memory_bytes: int) -> None:
        """Copy what is alive in `run`, before its first call. Raises `ReplayStopped`."""
        with _as_stop():
            wide = widened(tape)
        needed = lifetimes(wide)
        check_memory(wide, needed, memory_bytes, "the CPU device")
        how = replace(how, checks=(), may_round=True)
        self._run = ProgramRun(wide, needed, NoLaunches(), how, {})
        self._run.begin_calls(_alive(tape, wide, run.tensors))

    def run(self, phase: Phase) -> None:
        """Run a call. Raises `ReplayStopped` if that fails in fp64."""
        usual = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)  # the type of floats that integers become
        try:
            with _as_stop():
                self._run.run(phase)
        finally:
            torch.set_default_dtype(usual)

    def output(self, id_: int) -> torch.Tensor:
        """Return an output of the last call."""
        return self._run.tensors.get(id_)

    def differing(self, id_: int, rounded: torch.Tensor, tolerance: Tolerance) -> Array:
        """Return flags, in C order, of elements of `rounded` that rounding has moved.

        Elements that are not finite are flagged, too.
        """
        ours, theirs = in_order(rounded), in_order(self._run.tensors.get(id_))
        if not theirs.is_floating_point():
            return _on_host(ours != theirs)
        ours = ours.double()
        allowed = theirs.abs() * tolerance.rtol + absolute(tolerance, theirs)
        agrees = (ours - theirs).abs() <= allowed * _SHARE
        return _on_host(~(agrees & ours.isfinite() & theirs.isfinite()))


def absolute(tolerance: Tolerance, expected: torch.Tensor) -> float:
    """Return the absolute part of a tolerance of these expected elements."""
    if tolerance.atol_scale == "absolute" or not expected.numel():
        return tolerance.atol
    finite = expected[expected.isfinite()].double()
    return tolerance.atol * float(finite.square().mean().sqrt()) if finite.numel() else 0.0


def _on_host(flags: torch.Tensor) -> Array:
    array: Array = flags.numpy()
    return array


@contextmanager
def _as_stop() -> Iterator[None]:
    """End the replay with a finding if something cannot run in fp64."""
    try:
        yield
    except (NotWidened, InvalidTape, ReplayStopped) as error:
        message = f"The calls cannot run in fp64: {error}"
        raise ReplayStopped(Finding(kind=NOT_PRECISE, message=message)) from error


def _alive(tape: Tape, wide: Tape, tensors: LiveTensors) -> dict[int, torch.Tensor]:
    """Return the bytes, in the wide tape's dtypes, of each storage that is alive."""
    contents: dict[int, torch.Tensor] = {}
    for id_ in used_in_calls(tape):
        storage = tape.tensors[id_].storage
        if storage in contents or not tensors.has(storage):
            continue
        octets = tensors.octets(storage)
        narrow, broad = (DTYPES[side.tensors[id_].dtype] for side in (tape, wide))
        if narrow is not broad:
            whole = octets[: octets.numel() // narrow.itemsize * narrow.itemsize]
            octets = whole.view(narrow).to(broad).view(torch.uint8)
        contents[storage] = octets if narrow is not broad else octets.clone()
    return contents


@dataclass(frozen=True)
class VariedReplay:
    """Replays one tape, whose inputs `source` makes; None: its own ops do."""

    tape: Tape
    needed: Lifetimes
    launches: ReplayedLaunches
    source: Tape | None
    how: ReplayOptions
    memory_bytes: int
    send: Send

    def run(self, experiment: Experiment) -> list[Finding]:
        """Replay with other values, and send the outputs; return findings.

        Given tolerances, elements that rounding moves are sent as unwritten. Raises
        `ReplayStopped`, also if such calls cannot run in fp64.
        """
        assert experiment.values is not None
        run = self._begun(experiment.values)
        precise = self._precise(run) if experiment.tolerances else None
        for call, phase in enumerate(CALLS):
            run.run(phase)
            if precise is not None:
                precise.run(phase)
            for position, id_ in self._outputs(call):
                output, missing = run.tensors.get(id_), run.written.unwritten(id_)
                self._send(output_stage(call, position), bytes_of(output))
                if precise is not None:
                    moved = precise.differing(id_, output, experiment.tolerances[position])
                    missing = moved if missing is None else missing | moved
                if missing is not None:
                    self._send(unwritten_stage(call, position), np.packbits(missing).tobytes())
        return run.findings

    def study(self, experiment: Experiment) -> list[InsensitiveOutput]:
        """Replay with the usual values; return outputs that show nothing.

        Sends the first call's outputs in fp64, if it can run so.
        """
        run = self._begun(_UNCHANGED)
        inputs = dict(self._inputs(run))
        precise = self._precise_or_none(run)
        outputs = []
        for call, phase in enumerate(CALLS):
            run.run(phase)
            outputs.append(
                [in_order(run.tensors.get(id_)).clone() for _, id_ in self._outputs(call)]
            )
        if precise is not None:
            self._send_precise(precise)
        pairs = zip(*outputs, strict=False)
        return [
            InsensitiveOutput(position, *told)
            for position, (first, second) in enumerate(pairs)
            if (told := _told(first, second, inputs, experiment.tolerances[position])) is not None
        ]

    def _begun(self, values: OtherValues) -> ProgramRun:
        """Return a run before its first call."""
        inputs = {} if self.source is None else given_inputs(self.tape, self.source, self.how)
        parameters = OtherParameters(self.tape, values)
        how = ReplayOptions(
            self.how.seed,
            until=self.how.until,
            after_op=lambda index: parameters.change(index, run.tensors),
        )
        run = ProgramRun(self.tape, self.needed, self.launches, how, inputs)
        del inputs  # so that the run can free inputs after their last use
        parameters.change(START, run.tensors)
        run.run("init")
        run.run("inputs")
        if values is not _UNCHANGED:
            change_inputs(self.tape, run.tensors, values.seed)
        return run

    def _precise(self, run: ProgramRun) -> PreciseRun:
        return PreciseRun(self.tape, run, self.how, self.memory_bytes)

    def _precise_or_none(self, run: ProgramRun) -> PreciseRun | None:
        try:
            precise = self._precise(run)
            precise.run(CALLS[0])
        except ReplayStopped:
            return None
        return precise

    def _send_precise(self, precise: PreciseRun) -> None:
        for position, id_ in self._outputs(0):
            output = precise.output(id_)
            if output.dtype is torch.float64:
                self._send(precise_stage(position), bytes_of(output))

    def _inputs(self, run: ProgramRun) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield copies of the first call's inputs that have as many elements as an output."""
        metas = [self.tape.tensors[id_] for _, id_ in self._outputs(0)]
        counts = {torch.Size(meta.shape).numel() for meta in metas}
        for path, id_ in tensors_in(TupleOf(self.tape.inputs)):
            meta = self.tape.tensors[id_]
            if torch.Size(meta.shape).numel() in counts and run.tensors.has(meta.storage):
                yield input_path(path), in_order(run.tensors.get(id_)).clone()

    def _outputs(self, call: int) -> Iterator[tuple[int, int]]:
        for position, (_, id_) in enumerate(tensors_in(outputs_of(self.tape, call))):
            yield position, id_

    def _send(self, stage: str, data: bytes) -> None:
        self.send({"kind": "stage", "stage": stage, "ms": 0.0}, data)


def _told(
    first: torch.Tensor,
    second: torch.Tensor,
    inputs: Mapping[str, torch.Tensor],
    tolerance: Tolerance,
) -> tuple[str, float] | None:
    """Return what matches an output without any work, and the largest difference."""
    if not first.numel() or first.is_complex():
        return None
    size = first.double().abs()
    allowed = size * tolerance.rtol + absolute(tolerance, first)
    if bool((size <= allowed).all()):
        return None  # the comparison itself finds that zeros match
    others = {"the other call's output": second}
    if first.is_floating_point() and first.numel() > 1:
        others["its own mean everywhere"] = first.double().mean().expand(first.shape)
    others |= {path: tensor for path, tensor in inputs.items() if not tensor.is_complex()}
    for name, other in others.items():
        if other.numel() == first.numel():
            difference = (first.double() - other.double()).abs()
            if bool((difference <= allowed).all()):
                return name[:_MAX_NAMED], float(difference.max())
    return None


class OtherParameters:
    """Changes parameters where they get their values."""

    def __init__(self, tape: Tape, values: OtherValues) -> None:
        ids = {name: id_ for name, id_ in tape.params if name in set(values.parameters)}
        self._tape, self._seed = tape, values.seed
        self._by_op: dict[int, list[tuple[str, ParameterOrigin]]] = {}
        for name, origin in origins_of(tape, ids).items():
            self._by_op.setdefault(origin.op, []).append((name, origin))

    def change(self, index: int, tensors: LiveTensors) -> None:
        """Change the parameters that have their values behind an op."""
        for name, origin in self._by_op.get(index, ()):
            if not tensors.has(self._tape.tensors[origin.tensor].storage):
                continue
            parameter = tensors.get(origin.tensor)
            first = float(parameter.reshape(-1)[0]) if parameter.numel() else 2.0
            if first not in (0.0, 1.0) or not bool((parameter == first).all()):
                continue
            drawn = torch.rand(parameter.shape, generator=_generator(self._seed, name))
            parameter.copy_(drawn + (0.5 if first else -0.5))


def change_inputs(tape: Tape, tensors: LiveTensors, seed: int) -> None:
    """Change the inputs of both calls in place."""
    for call, inputs in enumerate((tape.inputs, tape.inputs2)):
        for path, value in by_path(TupleOf(inputs)).items():
            if not isinstance(value, TensorRef):
                continue
            meta = tape.tensors[value.id]
            if not tensors.has(meta.storage) or 0 in meta.strides:
                continue
            tensor = tensors.get(value.id)
            other = _other(tensor, call, _generator(seed, f"{call}/{path}"))
            if other is not None:
                tensor.copy_(other)


def _generator(seed: int, name: str) -> torch.Generator:
    digest = sha256(f"{seed}/{name}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "little"))


def _other(tensor: torch.Tensor, call: int, drawn: torch.Generator) -> torch.Tensor | None:
    """Return other values for a tensor, None if it keeps its own."""
    if not tensor.numel():
        return None
    if tensor.dtype is torch.bool:
        return torch.rand(tensor.shape, generator=drawn) < _TRUE_SHARE[call]
    if tensor.dtype in _INTEGERS:
        return _integers(tensor, drawn)
    return _floats(tensor, call, drawn) if tensor.dtype in _FLOATS else None


def _integers(tensor: torch.Tensor, drawn: torch.Generator) -> torch.Tensor | None:
    flat = tensor.reshape(-1)
    low, high = int(flat.min()), int(flat.max())
    if flat.numel() < 2 or (tensor.ndim == 1 and low < high and _are_offsets(flat)):
        return None
    if low < high:
        return flat[_order(flat.numel(), drawn)].reshape(tensor.shape)
    return torch.randint(1, high + 1, tensor.shape, generator=drawn) if high > 0 else None


def _are_offsets(flat: torch.Tensor) -> bool:
    """Return True for an ascending vector, other than that of indices in order."""
    steps = flat.to(torch.int64).diff()
    return bool((steps >= 0).all()) and not bool((steps == 1).all())


def _floats(tensor: torch.Tensor, call: int, drawn: torch.Generator) -> torch.Tensor:
    wide = tensor.to(torch.float64 if tensor.dtype is torch.float64 else torch.float32, copy=True)
    movable = wide.isfinite() & (wide != 0)
    values = wide[movable]
    if not values.numel():
        return _drawn(wide, call, drawn) if bool((wide == 0).all()) else wide
    if bool((values == values[0]).all()):
        if values.numel() == wide.numel():  # else it may be a mask
            wide = _ones(wide, call, drawn)
        return wide
    is_sorted = tensor.ndim == 1 and bool((wide.diff() >= 0).all())
    is_symmetric = (
        tensor.ndim > 1 and tensor.shape[-1] == tensor.shape[-2] and bool((wide == wide.mT).all())
    )
    values = values[_order(values.numel(), drawn)]
    if not call or bool((values.min() < 0) & (values.max() > 0)):
        values *= 1 - 2 * (torch.rand(values.numel(), generator=drawn) < 0.5).to(values.dtype)
    peak = float(values.abs().max())
    large = _places(values.numel(), call, drawn)
    values[large] *= _LARGE[call]
    if not call:  # by chance all of them may be negative, or none much above the usual elements
        ends = torch.tensor([peak, -peak][: len(large)], dtype=values.dtype)
        values[large[:2]] = ends * _LARGE[call]
    limit = torch.finfo(tensor.dtype).max / 4
    wide[movable] = values.clamp(-limit, limit)
    if is_sorted:
        wide = wide.sort().values
    return wide.tril() + wide.tril(-1).mT if is_symmetric else wide


def _drawn(wide: torch.Tensor, call: int, drawn: torch.Generator) -> torch.Tensor:
    """Return random numbers in place of zeros; none is negative in the second call."""
    other = torch.randn(wide.shape, generator=drawn, dtype=wide.dtype)
    return other.abs() if call else other


def _ones(wide: torch.Tensor, call: int, drawn: torch.Generator) -> torch.Tensor:
    """Return numbers in place of a constant: half of them 0 in the second call."""
    if call:
        return wide * (torch.rand(wide.shape, generator=drawn) < 0.5)
    return wide * torch.randn(wide.shape, generator=drawn, dtype=wide.dtype)


def _places(count: int, call: int, drawn: torch.Generator) -> torch.Tensor:
    """Return the positions of the elements that become large."""
    few = max(1, min(_FEW, count // 16)) if not call else max(1, count // _ONE_IN)
    return torch.randint(count, (few,), generator=drawn).unique()


def _order(count: int, drawn: torch.Generator) -> torch.Tensor:
    return torch.randperm(count, generator=drawn)
