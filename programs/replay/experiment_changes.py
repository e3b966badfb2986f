"""Changes a replay as an experiment demands: noise, replaced launches, measured times.

Noise is finite, and has the magnitude of the values it replaces. Integers stay between the least
and the largest one, so that indices stay legal. Times leave out the fixed cost of a call, which is
that of the same op on tensors of one element, where it takes such.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from launch.checks.kernel_run import RunOptions
from programs.replay.live_tensors import LiveTensors
from programs.replay.operators import GeneratorOf, TensorOf, changes_geometry, flat, prepared
from programs.replay.program_run import ReplayOptions
from programs.replay.replay_order import Experiment
from programs.replay.written_storages import LaunchReport, ReplayedLaunches, Written
from programs.tape.overload_effects import draws, makes_views, written_tensors
from programs.tape.schema import AtenOp, Tape, TensorMeta, TensorRef
from programs.tape.tensor_extents import covers_storage, may_overlap

_PIECE = 1 << 20
"""The elements that are replaced at a time, which bounds the memory of noise."""
_PARTS_OF_COMPLEX = {torch.complex64: torch.float32, torch.complex128: torch.float64}
_SHORT_S = 50e-6
_MORE_OF_SHORT = 7
"""Times as many calls of an op that takes less than `_SHORT_S`, in a tape of `_FEW_OPS`."""
_FEW_OPS = 1_000
_SMALL_CALLS = 9
_MAX_FIXED = 3
"""Limit of an op's fixed cost, as a multiple of an addition's: some ops also do much for one
element."""


class ExperimentChanges:
    """The changes of one experiment; none by default."""

    def __init__(self, experiment: Experiment, tape: Tape) -> None:
        self._experiment, self._tape = experiment, tape
        self._noisy = frozenset(experiment.noise)
        self._noise: Noise | None = None
        self._times = OpTimes(len(tape.ops), experiment.timed)

    @property
    def launches(self) -> ReplayedLaunches | None:
        """The copies that replace kernels; None: kernels run."""
        if self._experiment.launches == "run":
            return None
        return _Copies(self._tape, self._experiment.copies)

    @property
    def op_times_us(self) -> Sequence[float]:
        """The measured time of each op, if any is."""
        return self._times.us

    def options(self, how: ReplayOptions) -> ReplayOptions:
        """Return the options of the changed replay."""
        if self._noisy:
            how = replace(how, after_op=self._after_op)
        if self._experiment.timed:
            how = replace(how, before_op=self._times.note, call=self._times.call)
        return how

    def begin(self, tensors: LiveTensors) -> None:
        """Take the tensors of the run that begins."""
        seed, share = self._experiment.seed, self._experiment.noise_share
        self._noise = Noise(self._tape, tensors, seed, share) if self._noisy else None

    def _after_op(self, index: int) -> None:
        op = self._tape.ops[index]
        if index in self._noisy and self._noise is not None and isinstance(op, AtenOp):
            self._noise.replace_results(op)


class _Copies:
    """Makes copies in place of launches, or nothing."""

    def __init__(self, tape: Tape, copies: Sequence[Sequence[int]]) -> None:
        self._tape = tape
        self._copies: dict[int, list[tuple[int, int]]] = {}
        for index, target, source in copies:
            self._copies.setdefault(index, []).append((target, source))

    def run(
        self, index: int, tensors: LiveTensors, written: Written, _: RunOptions
    ) -> LaunchReport:
        """Replace the launch at op `index`."""
        for target, source in self._copies.get(index, ()):
            tensor = tensors.get(target)
            tensor.copy_(tensors.get(source).clone().reshape(tensor.shape))
            written.write(target)
        return LaunchReport()


class Noise:
    """The noise of one replay, from a separate generator."""

    def __init__(self, tape: Tape, tensors: LiveTensors, seed: int, share: float) -> None:
        self._tape, self._tensors, self._share = tape, tensors, share
        self._generator = torch.Generator()
        self._generator.manual_seed(seed)

    def replace_results(self, op: AtenOp) -> None:
        """Replace the elements that an op returned or changed in place."""
        returned = [id_ for id_ in op.outputs if id_ is not None]
        for id_ in dict.fromkeys((*returned, *written_tensors(op))):
            self._replace(id_)

    def _replace(self, id_: int) -> None:
        meta = self._tape.tensors[id_]
        tensor = self._tensors.get(id_)
        if not tensor.numel():
            return
        if covers_storage(meta, self._tape.storages[meta.storage]):
            self._fill(_typed(self._tensors.octets(meta.storage), tensor.dtype))
        elif may_overlap(meta.shape, meta.strides):
            self._fill_overlapping(meta, tensor.dtype)
        else:
            elements = tensor.reshape(-1).clone()
            self._fill(_as_real(elements))
            tensor.copy_(elements.reshape(tensor.shape))

    def _fill_overlapping(self, meta: TensorMeta, kind: torch.dtype) -> None:
        """Replace each element of a tensor that has several names for one place."""
        octets = self._tensors.octets(meta.storage)
        whole = octets[: octets.numel() // kind.itemsize * kind.itemsize].view(kind)
        numbers = torch.arange(whole.numel())
        places = numbers.as_strided(meta.shape, meta.strides, meta.offset).unique()
        elements = whole[places]
        self._fill(_as_real(elements))
        whole[places] = elements

    def _fill(self, elements: torch.Tensor) -> None:
        """Replace the elements of a vector, piece by piece."""
        for piece in elements.split(_PIECE):
            piece.copy_(self._noise_for(piece))

    def _noise_for(self, piece: torch.Tensor) -> torch.Tensor:
        """Return other elements of the same kind; at least one differs."""
        if piece.dtype is torch.bool:
            other = self._of_integers(piece.to(torch.uint8)).to(torch.bool)
        elif piece.is_floating_point():
            other = self._of_floats(piece)
        else:
            other = self._of_integers(piece)
        if self._share < 1:
            chosen = self._uniform(piece.numel()) < self._share
            chosen[self._below(piece.numel())] = True
            other = torch.where(chosen, other, piece)
        return other

    def _of_floats(self, piece: torch.Tensor) -> torch.Tensor:
        """Return the elements in another order, with random signs and factors."""
        wide = piece.to(torch.float64 if piece.dtype is torch.float64 else torch.float32)
        known = wide[wide.isfinite()]
        scale = float(known.square().mean().sqrt()) if known.numel() else 0.0
        limit = torch.finfo(piece.dtype).max
        scale = min(scale, limit / 4) or 1.0
        count = piece.numel()
        drawn = torch.empty(count, dtype=wide.dtype).normal_(generator=self._generator) * scale
        moved = wide.roll(self._below(count)).nan_to_num(0.0, 0.0, 0.0)
        factor = (0.5 + self._uniform(count)) * (1 - 2 * (self._uniform(count) < 0.5).float())
        other = torch.where(moved == 0, drawn, moved * factor)
        return other.clamp(-limit, limit).to(piece.dtype)

    def _of_integers(self, piece: torch.Tensor) -> torch.Tensor:
        """Return random integers within the range of the elements."""
        low, high = int(piece.min()), int(piece.max())
        if low == high:
            low, high = min(low, 0), max(high, 1 if low == 0 else 0)
        span = (high - low + 1) % (1 << 63)
        drawn = torch.randint(max(span, 1), piece.shape, generator=self._generator)
        other = (drawn + low).to(piece.dtype)
        mirrored = ((low + high) - piece.to(torch.int64)).to(piece.dtype)
        return torch.where(other == piece, mirrored, other)

    def _uniform(self, count: int) -> torch.Tensor:
        return torch.rand(count, generator=self._generator)

    def _below(self, count: int) -> int:
        return int(torch.randint(count, (1,), generator=self._generator))


def _typed(octets: torch.Tensor, kind: torch.dtype) -> torch.Tensor:
    return octets.view(_PARTS_OF_COMPLEX.get(kind, kind))


def _as_real(elements: torch.Tensor) -> torch.Tensor:
    """Return a vector's memory, as the parts of its elements if they are complex."""
    if not elements.is_complex():
        return elements
    return torch.view_as_real(elements.resolve_conj()).reshape(-1)


class OpTimes:
    """The times of a tape's ops, by index."""

    def __init__(self, ops: int, repeats: int) -> None:
        """Measure nothing if `repeats` is 0."""
        self._repeats, self._is_short = repeats, ops <= _FEW_OPS
        self._us = [0.0] * ops if repeats else []
        self._now = 0
        self._addition_s = _cost_of_addition_s() if repeats else 0.0

    @property
    def us(self) -> Sequence[float]:
        """The time of each op in microseconds; empty if nothing is measured."""
        return self._us

    def note(self, index: int) -> None:
        """Take the index of the next op."""
        self._now = index

    def call(
        self, op: AtenOp, tensor: TensorOf, device: torch.device, generator: GeneratorOf
    ) -> list[Any]:
        """Call an op several times, and leave what one call leaves.

        What draws, changes a shape, or writes one place several times, is called once.
        """
        changed = [tensor(id_) for id_ in written_tensors(op)]
        overlaps = any(may_overlap(target.shape, target.stride()) for target in changed)
        is_single = changes_geometry(op.op) or draws(op) or overlaps
        least = 1 if is_single else self._repeats
        is_repeated = self._is_short and least > 1
        call = prepared(op, tensor, device, generator)
        before = [target.clone() for target in changed] if least > 1 else []
        times: list[float] = []
        while len(times) < least or (
            is_repeated and len(times) < least * _MORE_OF_SHORT and min(times) < _SHORT_S
        ):
            for target, content in zip(changed if times else (), before, strict=False):
                target.copy_(content)
            began = time.thread_time()
            results = call()
            times.append(time.thread_time() - began)
        fixed_s = self._addition_s
        if is_repeated and min(times) < _SHORT_S and not makes_views(op):
            fixed_s = self._fixed_s(op, tensor, device, generator)
        self._us[self._now] = max(0.0, min(times) - fixed_s) * 1e6
        return list(flat(results))

    def _fixed_s(
        self, op: AtenOp, tensor: TensorOf, device: torch.device, generator: GeneratorOf
    ) -> float:
        """Return the time of the same op on single elements, within limits."""
        try:
            call = prepared(op, lambda id_: _single(tensor(id_)), device, generator)
            small_s = _least_s(call, _SMALL_CALLS)
        except (RuntimeError, LookupError, ValueError, TypeError):  # it takes no such tensors
            return self._addition_s
        return min(max(small_s, self._addition_s), _MAX_FIXED * self._addition_s)


def _single(tensor: torch.Tensor) -> torch.Tensor:
    """Return a copy of the first element, in as many axes. It is 0 if it may be an index."""
    element = tensor[(slice(0, 1),) * tensor.dim()]
    is_number = element.is_floating_point() or element.is_complex()
    return element.clone() if is_number else torch.zeros_like(element)


def _cost_of_addition_s() -> float:
    """Return the CPU time of a call that computes next to nothing."""
    ones = torch.ones(1)
    args = (TensorRef(0), TensorRef(0))
    add = AtenOp("aten.add.Tensor", args, {}, (1,), "run", None)
    return _least_s(prepared(add, lambda _: ones, ones.device), _MORE_OF_SHORT * _SMALL_CALLS)


def _least_s(call: Callable[[], Any], calls: int) -> float:
    times = []
    for _ in range(calls):
        began = time.thread_time()
        call()
        times.append(time.thread_time() - began)
    return min(times)
